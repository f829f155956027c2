// `cargo xtask deploy` and `cargo xtask undeploy`: reads the words, prints what is done, and asks before anything is
// deleted. Progress goes to standard error; standard output has only the tilers' variables.

import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";

import { Plan } from "./plan.mjs";
import { SettingsError } from "./settings.mjs";
import { tryOut } from "./smoke.mjs";

const HELP = `cargo xtask deploy [environment] [options]     the environment is production by default
  --dry-run            print what would be changed, and change nothing
  --smoke WHAT         all: try the service out, with a picture (default); edge: without a picture; none
  --wait SECONDS       how long the service may take to come up, and a tiler for the picture (default: 120)
  --renew-tokens       give the tilers other tokens; those with the old ones stop
  --show-secrets       print the tilers' variables whole
cargo xtask undeploy [environment] [options]
  --dry-run            print what would be removed, and remove nothing
  --pyramids           delete the bucket too
  --yes                do not ask
both
  --config FILE        instead of edgezoom.toml
CLOUDFLARE_API_TOKEN has to be set; docs/operations/guide.md lists its permissions.`;

const OPTIONS = {
  config: { type: "string", default: "edgezoom.toml" },
  "dry-run": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  pyramids: { type: "boolean", default: false },
  "renew-tokens": { type: "boolean", default: false },
  "show-secrets": { type: "boolean", default: false },
  smoke: { type: "string", default: "all" },
  wait: { type: "string", default: "120" },
  yes: { type: "boolean", default: false },
};
const SMOKE = ["all", "edge", "none"];

const print = (line) => process.stderr.write(`${line}\n`);

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  print(`xtask | ${error.message}`);
  process.exitCode = 1;
}

async function main(words) {
  const { values, positionals } = parseArgs({ args: words, options: OPTIONS, allowPositionals: true });
  const [command, environment = "production", ...rest] = positionals;
  if (values.help || rest.length || !["deploy", "undeploy"].includes(command)) {
    print(HELP);
    return values.help ? 0 : 2;
  }
  if (!SMOKE.includes(values.smoke)) throw new SettingsError(`--smoke has to be one of ${SMOKE.join(", ")}`);
  const { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_API_BASE_URL: address } = process.env;
  if (!token) throw new SettingsError("CLOUDFLARE_API_TOKEN is not set");
  const { open } = await import("./deploy.mjs"); // the provider's client takes half a second to load
  const root = process.cwd(); // xtask runs this at the repository's top
  const task = await open({ root, file: values.config, environment, credentials: { token, address } }).catch(
    (error) => {
      if (error.code === "ENOENT")
        throw new SettingsError(`${values.config} is missing: copy deploy/edgezoom.example.toml to it`);
      throw error;
    },
  );
  return command === "deploy" ? runDeploy(task, values) : runUndeploy(task, values);
}

async function runDeploy(task, values) {
  const { deploy } = await import("./deploy.mjs");
  const plan = new Plan({ dryRun: values["dry-run"], print });
  const { address, base } = await deploy(task, plan, { renewTokens: values["renew-tokens"] });
  if (plan.isDry) {
    print(`${plan.changes} changes would be made`);
    return 0;
  }
  print(plan.changes ? `${plan.changes} changes` : "nothing had to be changed");
  print(`the tilers' variables, from ${task.state.path}:`);
  process.stdout.write(task.state.text({ hidden: !values["show-secrets"] }));
  print(`the operator's, for \`tiler admin\`, are in ${task.state.operatorPath}`);
  if (values.smoke === "none") return 0;
  const { picture } = values.smoke === "all" ? task.wanted : {};
  const token = task.state.variables.EDGEZOOM_TILER_TOKEN;
  const failed = await tryOut({ share: address, base, picture, token, waitMs: Number(values.wait) * 1000, print });
  return failed ? 1 : 0;
}

async function runUndeploy(task, values) {
  const { undeploy } = await import("./undeploy.mjs");
  const options = { pyramids: values.pyramids };
  const plan = new Plan({ dryRun: true, print });
  await undeploy(task, plan, options);
  if (!plan.changes) print("there is nothing to remove");
  if (values["dry-run"] || !plan.changes) return 0;
  const { prefix } = task.wanted;
  if (!values.yes && !(await confirmed(prefix))) {
    print("nothing was removed");
    return 1;
  }
  await undeploy(task, new Plan({ print }), options);
  return 0;
}

/** Whether the operator types the name of what goes. */
async function confirmed(name) {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await lines.question(`Type ${name} to remove all of this: `)).trim() === name;
  } finally {
    lines.close();
  }
}
