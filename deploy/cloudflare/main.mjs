// The command line of `cargo xtask deploy` and `cargo xtask undeploy`. Progress goes to standard error; standard output
// carries only the tilers' variables.

import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";

import { Plan } from "./plan.mjs";
import { SettingsError } from "./settings.mjs";
import { test } from "./smoke.mjs";

const HELP = `Usage: cargo xtask deploy [ENVIRONMENT] [OPTIONS]
       cargo xtask undeploy [ENVIRONMENT] [OPTIONS]
In a release of the Worker, \`npm run deploy --\` and \`npm run undeploy --\` do the same.

ENVIRONMENT is a section of edgezoom.toml [default: production].
Set CLOUDFLARE_API_TOKEN; docs/operations/guide.md lists its permissions.

Options of deploy:
  --dry-run        Print the plan without changing anything
  --smoke WHAT     Test the deployed service: \`all\` converts a picture, \`edge\` does not, \`none\` skips the test [default: all]
  --wait SECONDS   Time limit for the service to come up, and for the conversion [default: 120]
  --renew-tokens   Give the tilers new tokens; tilers with the old ones stop working
  --show-secrets   Print the tilers' variables with their secrets
Options of undeploy:
  --dry-run        Print the plan without removing anything
  --pyramids       Delete the bucket with all pyramids too
  --yes            Remove without asking
Options of both:
  --config FILE    Read FILE instead of edgezoom.toml
  --help           Print this help`;

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
  if (!SMOKE.includes(values.smoke)) throw new SettingsError(`--smoke must be one of ${SMOKE.join(", ")}`);
  const { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_API_BASE_URL: address } = process.env;
  if (!token) throw new SettingsError("set CLOUDFLARE_API_TOKEN; docs/operations/guide.md lists its permissions");
  const { open } = await import("./deploy.mjs"); // Cloudflare's client takes half a second to load
  const root = process.cwd(); // xtask runs this in the repository
  const task = await open({ root, file: values.config, environment, credentials: { token, address } }).catch(
    (error) => {
      if (error.code === "ENOENT")
        throw new SettingsError(`${values.config} is missing; copy deploy/edgezoom.example.toml and edit it`);
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
    print(`${plan.changes} changes planned`);
    return 0;
  }
  print(plan.changes ? `${plan.changes} changes made` : "no changes needed");
  if (task.wanted.containers) {
    print(`up to ${task.wanted.containers.most} containers run the tiler, whenever there is work`);
  } else {
    print(`the tilers' variables are in ${task.state.path}:`);
    process.stdout.write(task.state.text({ hidden: !values["show-secrets"] }));
  }
  print(`the operator's variables for \`tiler admin\` are in ${task.state.operatorPath}`);
  if (values.smoke === "none") return 0;
  const { picture } = values.smoke === "all" ? task.wanted : {};
  const token = task.state.variables.EDGEZOOM_TILER_TOKEN;
  const failed = await test({ share: address, base, picture, token, waitMs: Number(values.wait) * 1000, print });
  return failed ? 1 : 0;
}

async function runUndeploy(task, values) {
  const { undeploy } = await import("./deploy.mjs");
  const options = { pyramids: values.pyramids };
  const plan = new Plan({ dryRun: true, print });
  await undeploy(task, plan, options);
  if (!plan.changes) print("nothing to remove");
  if (values["dry-run"] || !plan.changes) return 0;
  const { prefix } = task.wanted;
  if (!values.yes && !(await confirmed(prefix))) {
    print("nothing removed");
    return 1;
  }
  await undeploy(task, new Plan({ print }), options);
  return 0;
}

/** Asks the operator to confirm, and returns true if they type the name. */
async function confirmed(name) {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await lines.question(`Type ${name} to remove all of these: `)).trim() === name;
  } finally {
    lines.close();
  }
}
