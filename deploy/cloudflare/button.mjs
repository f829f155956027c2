// Writes what Cloudflare's deploy button needs beside the built Worker, in a folder that stands alone: configuration,
// image, secrets to ask for, and the command that deploys. The button creates the KV namespace and the bucket, and copies
// the image into the account's registry. Argument: the folder. `cargo xtask release button` runs this.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";

import { ABANDONED, UPLOADS } from "./bucket.mjs";
import { IMAGE } from "./settings.mjs";
import { configuration } from "./wrangler.mjs";

const [folder] = process.argv.slice(2);
const base = parse(await readFile("wrangler.toml", "utf8")); // xtask runs this in the repository
const CONTAINERS = { most: 2, hoursADay: 24, image: "./Dockerfile", instance: "standard-4" };
const settings = { environment: "button", prefix: base.name, jurisdiction: "default", containers: CONTAINERS, vars: {}, names: {} };
const { env, ...common } = configuration(base, [settings]);
const { name, secrets, ...rest } = env.button;
const local = (path) => path.replace(/^\.\.\//, "");
const written = { name, ...common, ...rest, main: local(common.main), assets: { ...rest.assets, directory: local(rest.assets.directory) } };

const RULES = { rules: [ABANDONED, UPLOADS] };
const README = `# Edgezoom

Give it the URL of any image, PDF, SVG or web page, and get back a Deep Zoom image, a share link and a viewer. This repository was written by
\`cargo xtask release button\` of https://github.com/edgezoom/edgezoom; it has the built Worker, and the tiler's image by its name.

[![Deploy to Cloudflare](https://deploy.workers.cloudflare.com/button)](https://deploy.workers.cloudflare.com/?url=https://github.com/edgezoom/edgezoom-deploy)

The button asks for two secrets, each at least 16 random characters: \`TILER_TOKEN\`, which you need not remember, and \`ADMIN_TOKENS\`, for
\`tiler admin\`. It creates the KV namespace, the bucket and the Durable Objects, and the containers that run tilers while there is work.

What the button does not do:

- Workers Paid: containers need it. On the free plan it ends with “Unauthorized” after the Worker is uploaded.
- A domain: the service answers at workers.dev. Set \`BASE_URL\` when you add one in the dashboard.
- Spending: at most two containers and 24 hours of both a day, about $10; \`CONTAINERS\` and \`CONTAINER_HOURS_A_DAY\` in wrangler.json.
- Updates: merge the next release.
`;

const files = {
  "wrangler.json": `${JSON.stringify(written, undefined, 2)}\n`,
  Dockerfile: `FROM ${IMAGE}\n`,
  ".dev.vars.example": secrets.required.map((secret) => `${secret}=""\n`).join(""),
  "lifecycle.json": `${JSON.stringify(RULES, undefined, 2)}\n`,
  // wrangler cannot describe a bucket's rules in its configuration. The button may have given the bucket another name.
  "deploy.mjs": `import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const wrangler = (...words) => execFileSync("npx", ["wrangler", ...words], { stdio: "inherit" });
const [{ bucket_name: bucket }] = JSON.parse(readFileSync("wrangler.json", "utf8")).r2_buckets;
wrangler("deploy", "--config", "wrangler.json");
wrangler("r2", "bucket", "lifecycle", "set", bucket, "--file", "lifecycle.json", "--force");
`,
  "README.md": README,
};
await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
