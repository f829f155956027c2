// The commands as `cargo xtask` runs them, with the real wrangler and the built Worker; and the fake API's conformance
// to the types of Cloudflare's client.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { IMAGE } from "../cloudflare/settings.mjs";
import { DIGEST, REPOSITORY, SETTINGS, stage } from "./stage.mjs";

const MAIN = join(REPOSITORY, "deploy/cloudflare/main.mjs");

/** Runs a Node.js program and returns its exit code and output. */
function run(cwd, program, words, { env, input = "" } = {}) {
  const child = spawn(process.execPath, [program, ...words], { cwd, env: { ...process.env, ...env } });
  const printed = { out: "", err: "" };
  child.stdout.on("data", (text) => (printed.out += text));
  child.stderr.on("data", (text) => (printed.err += text));
  child.stdin.end(input);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, ...printed })));
}

test("API requests, and the fake's checks of them, have the types of Cloudflare's client", async () => {
  const { code, out } = await run(REPOSITORY, "node_modules/typescript/bin/tsc", ["--project", "deploy/tsconfig.json"]);
  assert.equal(code, 0, out);
});

test("the command deploys with the real wrangler, changes nothing the second time, and removes only after confirmation", async () => {
  const { root, provider, close } = await stage({ build: true });
  const { token, address } = provider.credentials;
  const env = { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_API_BASE_URL: address };
  try {
    const first = await run(root, MAIN, ["deploy", "--smoke", "none"], { env });
    assert.equal(first.code, 0, first.err);
    assert.match(first.out, /^EDGEZOOM_TILER_TOKEN=…$/m);
    const { bindings, secrets, version } = provider.account.scripts.get("edgezoom");
    const bound = Object.fromEntries(bindings.map((binding) => [binding.name, binding]));
    assert.equal(bound.PYRAMIDS.bucket_name, "edgezoom-pyramids");
    assert.equal(bound.JOBS.queue_name, "edgezoom-jobs");
    assert.equal(bound.FINISHED.namespace_id, [...provider.account.namespaces.keys()][0]);
    assert.deepEqual(bound.CREATIONS.simple, { limit: 7, period: 60 });
    assert.equal(bound.METRICS.dataset, "edgezoom");
    assert.equal(bound.BASE_URL.text, "https://api.example.com");
    assert.equal(bound.NOTICE_URL.text, "https://example.com/notice");
    assert.equal(secrets.TILER_TOKEN.length, 43);
    assert.deepEqual([...provider.account.domains.keys()], ["zoom.example.com", "api.example.com", "tiles.example.com"]);

    const again = await run(root, MAIN, ["deploy", "--smoke", "none", "--show-secrets"], { env });
    assert.match(again.err, /^no changes needed$/m, again.err);
    assert.ok(again.out.includes(`EDGEZOOM_TILER_TOKEN=${secrets.TILER_TOKEN}\n`));
    assert.equal(provider.account.scripts.get("edgezoom").version, version);

    const words = ["undeploy", "production", "--pyramids"];
    const refused = await run(root, MAIN, words, { env, input: "yes\n" });
    assert.deepEqual([refused.code, provider.account.scripts.size], [1, 1], refused.err);
    const removed = await run(root, MAIN, words, { env, input: "edgezoom\n" });
    assert.equal(removed.code, 0, removed.err);
    for (const [what, left] of Object.entries(provider.account)) assert.equal(left.size, 0, what);
  } finally {
    await close();
  }
});

test("the real wrangler deploys containers, changes nothing the second time, and everything is removed", async () => {
  const image = `docker.io/you/tiler@${DIGEST}`; // no registry is asked
  const settings = SETTINGS.replace("[production]", `[production]\n  tilers = "containers"\n  image = "${image}"`);
  const { root, provider, close } = await stage({ build: true, settings });
  const { token, address } = provider.credentials;
  const env = { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_API_BASE_URL: address };
  try {
    const first = await run(root, MAIN, ["deploy", "--smoke", "none"], { env });
    assert.equal(first.code, 0, first.err);
    const { scripts, applications, queues, tokens } = provider.account;
    assert.deepEqual([queues.size, tokens.size], [0, 0]);
    const [{ name, max_instances: most, constraints, configuration, durable_objects: objects }] = applications.values();
    assert.deepEqual([name, most, constraints.regions, objects.namespace_id], ["edgezoom-tilers", 2, ["WEUR", "EEUR"], "objects of TilerObject"]);
    assert.deepEqual([configuration.image, configuration.instance_type, configuration.wrangler_ssh], [image, "standard-4", { enabled: false }]);
    assert.ok(!scripts.get("edgezoom").bindings.some(({ name }) => name === "JOBS"));
    const again = await run(root, MAIN, ["deploy", "--smoke", "none"], { env });
    assert.match(again.err, /^no changes needed$/m, again.err);
    const removed = await run(root, MAIN, ["undeploy", "--pyramids", "--yes"], { env });
    assert.equal(removed.code, 0, removed.err);
    for (const [what, left] of Object.entries(provider.account)) assert.equal(left.size, 0, what);
  } finally {
    await close();
  }
});

test("wrangler accepts the generated configuration of every environment", async () => {
  const settings = SETTINGS.replace("[staging]", '[staging]\n  tilers = "containers"');
  const { root, deploy, close } = await stage({ build: true, settings });
  try {
    await deploy({ environment: "staging" });
    const configuration = join(root, ".edgezoom/wrangler.json");
    const { env } = JSON.parse(await readFile(configuration, "utf8"));
    assert.deepEqual(Object.keys(env), ["production", "staging"]);
    assert.equal(env.staging.analytics_engine_datasets[0].dataset, "edgezoom_staging");
    assert.notEqual(env.production.ratelimits[0].namespace_id, env.staging.ratelimits[0].namespace_id);
    const quiet = { CI: "1", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };
    const wrangler = (name) =>
      run(
        root,
        "node_modules/wrangler/bin/wrangler.js",
        ["deploy", "--dry-run", "--outdir", `out-${name}`, "--config", configuration, "--env", name],
        { env: quiet },
      );
    for (const [name, { code, out, err }] of [
      ["production", await wrangler("production")],
      ["staging", await wrangler("staging")],
    ]) {
      assert.equal(code, 0, out + err);
      assert.doesNotMatch(out + err, /WARNING/, out + err);
      for (const { bucket_name: bucket } of env[name].r2_buckets) assert.ok(out.includes(bucket), out);
    }
  } finally {
    await close();
  }
});

test("the repository of the deploy button stands alone, and wrangler accepts it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-button-"));
  try {
    const written = await run(REPOSITORY, "deploy/cloudflare/button.mjs", [folder]);
    assert.equal(written.code, 0, written.err);
    const read = (name) => readFile(join(folder, name), "utf8");
    assert.equal(await read("Dockerfile"), `FROM ${IMAGE}\n`);
    assert.equal(await read(".dev.vars.example"), 'TILER_TOKEN=""\nADMIN_TOKENS=""\n');
    assert.deepEqual(JSON.parse(await read("lifecycle.json")).rules.map(({ id }) => id), ["edgezoom", "edgezoom-uploads"]);
    const configuration = await read("wrangler.json");
    const { containers, queues, vars, main, assets } = JSON.parse(configuration);
    assert.deepEqual([containers[0].image, queues.producers, vars.CONTAINERS], ["./Dockerfile", [], "2"]);
    assert.deepEqual([main, assets.directory], ["edge/build/worker/index.js", "edge/build/assets"]);
    // Its image would need Docker, also in a dry run.
    await writeFile(join(folder, "wrangler.json"), configuration.replace("./Dockerfile", IMAGE));
    await cp(join(REPOSITORY, "edge/build"), join(folder, "edge/build"), { recursive: true });
    const words = ["deploy", "--dry-run", "--outdir", "out", "--config", "wrangler.json"];
    const quiet = { CI: "1", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };
    const { code, out, err } = await run(folder, join(REPOSITORY, "node_modules/wrangler/bin/wrangler.js"), words, { env: quiet });
    assert.equal(code, 0, out + err);
    assert.doesNotMatch(out + err, /WARNING/, out + err);
    assert.match(out, /edgezoom-tilers/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("an unknown command prints the usage, and a missing token is an error", async () => {
  assert.equal((await run(REPOSITORY, MAIN, ["remove"])).code, 2);
  const without = await run(REPOSITORY, MAIN, ["deploy"], { env: { CLOUDFLARE_API_TOKEN: "" } });
  assert.deepEqual([without.code, without.err], [1, "xtask | set CLOUDFLARE_API_TOKEN; docs/operations/guide.md lists its permissions\n"]);
});
