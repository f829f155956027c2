// A stage for the tests of deploying: a directory with the files that deploying reads, and a fake of Cloudflare's API.
// `upload` calls the fake as wrangler does, without the seconds that wrangler takes to start.

import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { deploy, open, undeploy } from "../cloudflare/deploy.mjs";
import { Plan } from "../cloudflare/plan.mjs";
import { ACCOUNT, start } from "./provider.mjs";
import "./wrangler-calls.mjs";

/** The digest of every image. */
export const DIGEST = `sha256:${"a".repeat(64)}`;
const pin = async (image) => `${/^[^:@]+/.exec(image)[0]}@${DIGEST}`;

export const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** Both environments; production has all domains, so that every API call is made. */
export const SETTINGS = `
  account = "${ACCOUNT}"
  name = "edgezoom"
  [production]
  domain = "zoom.example.com"
  api_domain = "api.example.com"
  cache_domain = "tiles.example.com"
  location = "weur"
  creations_per_minute = 7
  [production.vars]
  NOTICE_URL = "https://example.com/notice"
  [staging]
`;

/** With `build: true` the Worker is the repository's build. */
export async function stage({ settings = SETTINGS, build = false, retries, ...of } = {}) {
  const provider = await start(of);
  const root = await mkdtemp(join(tmpdir(), "edgezoom-deploy-"));
  await cp(join(REPOSITORY, "wrangler.toml"), join(root, "wrangler.toml"));
  await writeFile(join(root, "edgezoom.toml"), settings);
  await mkdir(join(root, "edge"));
  await symlink(join(REPOSITORY, "node_modules"), join(root, "node_modules"));
  if (build) {
    await cp(join(REPOSITORY, "edge/build"), join(root, "edge/build"), { recursive: true }); // other tests write to it
  } else {
    await mkdir(join(root, "edge/build"));
    await writeFile(join(root, "edge/build/index.js"), "the Worker");
  }
  const lines = [];
  const task = (environment) =>
    open({ root, file: join(root, "edgezoom.toml"), environment, credentials: { ...provider.credentials, retries } });
  const plan = (dryRun) => {
    lines.length = 0;
    return new Plan({ dryRun, print: (line) => lines.push(line) });
  };
  return {
    root,
    provider,
    /** Output of the last task. */
    lines,
    task,
    async deploy({ environment = "production", dryRun = false, ...options } = {}) {
      const made = plan(dryRun);
      const result = await deploy(await task(environment), made, { upload: uploadTo(provider), pin, ...options });
      return { ...result, changes: made.changes };
    },
    async undeploy({ environment = "production", dryRun = false, ...options } = {}) {
      const made = plan(dryRun);
      await undeploy(await task(environment), made, options);
      return made.changes;
    },
    /** Returns the tilers' variables. */
    env: (environment = "production") => readFile(join(root, ".edgezoom", `${environment}.env`), "utf8"),
    async close() {
      provider.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Makes the API calls of `wrangler deploy`. */
const uploadTo =
  ({ credentials: { token, address } }) =>
  async (_, { configuration, environment, tag, secrets }) => {
    const {
      name,
      routes = [],
      kv_namespaces: namespaces,
    } = JSON.parse(await readFile(configuration, "utf8")).env[environment];
    const call = async (method, path, body, type = "application/json") => {
      const response = await fetch(`${address}/accounts/${ACCOUNT}/workers/scripts/${name}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, "Content-Type": type },
        body,
      });
      if (!response.ok) throw new Error(`wrangler: ${method} ${path} answers ${response.status}`);
    };
    const bindings = [
      ...namespaces.map(({ binding, id }) => ({ type: "kv_namespace", name: binding, namespace_id: id })),
      ...Object.entries(secrets).map(([key, text]) => ({ type: "secret_text", name: key, text })),
    ];
    const metadata = JSON.stringify({ bindings, annotations: { "workers/tag": tag } });
    const form = `--b\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n${metadata}\r\n--b--`;
    await call("PUT", "", form, "multipart/form-data; boundary=b");
    await call("POST", "/subdomain", JSON.stringify({ enabled: routes.length === 0 }));
    if (routes.length) {
      await call(
        "PUT",
        "/domains/records",
        JSON.stringify({ origins: routes.map(({ pattern }) => ({ hostname: pattern })) }),
      );
    }
  };
