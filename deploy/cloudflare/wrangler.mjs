// Uploads the Worker: modules, files, bindings, migrations of Durable Objects, domains, rate limits and secrets, all at
// once and as one version. That is wrangler's work.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Enough of the digest to tell versions apart; a tag is short. */
const TAG_LENGTH = 16;

/** Quiet, without questions and without anything sent home. */
const ENVIRONMENT = {
  CI: "1",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

/** What names a version: all that goes into it. */
export async function tag(root, configuration, environment, secrets) {
  const digest = createHash("sha256");
  const { env, ...common } = configuration;
  digest.update(JSON.stringify([common, env[environment], secrets]));
  const build = join(root, "edge/build");
  const files = (await readdir(build, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
    const content = await readFile(path);
    digest.update(`\n${path.slice(build.length)} ${content.length}\n`).update(content);
  }
  return digest.digest("hex").slice(0, TAG_LENGTH);
}

/** `wrangler deploy`. The secrets are in a file while it runs, as other users see a program's arguments. */
export async function upload(root, { configuration, environment, tag, secrets, account, dryRun = false }) {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-"));
  try {
    const file = join(folder, "secrets.json");
    await writeFile(file, JSON.stringify(secrets), { mode: 0o600 });
    const mode = dryRun ? ["--dry-run", "--outdir", join(folder, "out")] : ["--tag", tag, "--secrets-file", file];
    await run(root, ["deploy", "--config", configuration, "--env", environment, ...mode], account);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(root, words, account) {
  const env = { ...process.env, ...ENVIRONMENT, CLOUDFLARE_ACCOUNT_ID: account };
  const wrangler = spawn(process.execPath, [join(root, "node_modules/wrangler/bin/wrangler.js"), ...words], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = [];
  for (const stream of [wrangler.stdout, wrangler.stderr]) stream.on("data", (bytes) => printed.push(bytes));
  return new Promise((resolve, reject) => {
    wrangler.on("error", reject);
    wrangler.on("close", (code) => {
      const text = Buffer.concat(printed).toString();
      if (code === 0) resolve(text);
      else reject(new Error(`wrangler ${words[0]} ended with ${code}:\n${text.trim()}`));
    });
  });
}
