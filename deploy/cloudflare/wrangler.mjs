// wrangler uploads the Worker with its modules, files, bindings, migrations, domains, rate limits and secrets as one
// version. This generates its configuration, which is wrangler.toml with the names and addresses of each environment,
// and runs it.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Directory of the generated configuration, relative to the repository. */
export const FOLDER = ".edgezoom";
/** Id of a KV namespace that does not exist yet, in a dry run. */
const UNKNOWN_ID = "0".repeat(32);
/** Distance between the rate limit ids of two environments: an id is one counter for the whole account. */
const RATE_LIMITS_APART = 1000;
/** Maximum processor time of a request: the hash of an uploaded file takes some seconds, and all else far less. */
const CPU_MS = 10_000;
/** Keys that each environment sets itself. wrangler's environments do not inherit bindings. */
const OF_AN_ENVIRONMENT = [
  "analytics_engine_datasets",
  "assets",
  "containers",
  "durable_objects",
  "kv_namespaces",
  "observability",
  "preview_urls",
  "queues",
  "r2_buckets",
  "ratelimits",
  "routes",
  "secrets",
  "vars",
  "workers_dev",
];

/** Returns the names of the resources that the Worker is bound to, by binding. */
export function resources(base, { prefix, names, containers }) {
  const named = (name, binding) => names[binding] ?? `${prefix}-${name}`;
  const ours = (name) => (name.startsWith(`${base.name}-`) ? name.slice(base.name.length + 1) : name);
  return {
    namespaces: base.kv_namespaces.map(({ binding }) => ({ binding, name: named(binding.toLowerCase(), binding) })),
    buckets: base.r2_buckets.map(({ binding, bucket_name: name }) => ({ binding, name: named(ours(name), binding) })),
    // Containers pull from the Worker.
    queues: containers ? [] : base.queues.producers.map(({ binding, queue }) => ({ binding, name: named(ours(queue), binding) })),
  };
}

/**
 * Returns the configuration of all environments, each given by its settings and the ids of its KV namespaces by
 * binding.
 */
export function configuration(base, environments) {
  const common = Object.fromEntries(Object.entries(base).filter(([key]) => !OF_AN_ENVIRONMENT.includes(key)));
  const env = environments.map((settings, index) => [settings.environment, environment(base, settings, index)]);
  return { ...common, main: `../${base.main}`, env: Object.fromEntries(env) };
}

/** Returns true if the account certainly has a paid plan: a limit of processor time is refused in a free one, which has its own. */
const isPaid = ({ containers, vars }) => Boolean(containers) || vars.REGIONS === "on";

function environment(base, settings, index) {
  const { prefix, ids, jurisdiction, creationsPerMinute } = settings;
  const { namespaces, buckets, queues } = resources(base, settings);
  const at = domains(settings);
  return {
    name: prefix,
    workers_dev: at.length === 0,
    preview_urls: base.preview_urls,
    ...(at.length && { routes: at.map((pattern) => ({ pattern, custom_domain: true })) }),
    observability: base.observability,
    assets: { ...base.assets, directory: `../${base.assets.directory}` },
    vars: { ...base.vars, ...addresses(settings), ...containerVars(settings), ...settings.vars },
    secrets: base.secrets,
    kv_namespaces: namespaces.map(({ binding }) => ({ binding, id: ids?.[binding] ?? UNKNOWN_ID })),
    r2_buckets: buckets.map(({ binding, name }) => ({
      binding,
      bucket_name: name,
      ...(jurisdiction !== "default" && { jurisdiction }),
    })),
    queues: { producers: queues.map(({ binding, name }) => ({ binding, queue: name })) },
    durable_objects: base.durable_objects,
    ...(settings.containers && { containers: [containers(settings)] }),
    ...(isPaid(settings) && { limits: { cpu_ms: CPU_MS } }),
    // A dataset's name is that of a table in SQL.
    analytics_engine_datasets: base.analytics_engine_datasets.map(({ binding }) => ({
      binding,
      dataset: prefix.replaceAll("-", "_"),
    })),
    ratelimits: base.ratelimits.map(({ namespace_id: number, simple, ...rest }) => ({
      ...rest,
      namespace_id: String(Number(number) + index * RATE_LIMITS_APART),
      simple: rest.name === "CREATIONS" && creationsPerMinute ? { limit: creationsPerMinute, period: 60 } : simple,
    })),
  };
}

/** Regions of containers by the location of the bucket. Some have little room, so a neighbour is added. */
const REGIONS = {
  apac: ["APAC"],
  eeur: ["EEUR", "WEUR"],
  enam: ["ENAM", "WNAM"],
  oc: ["OC", "APAC"],
  weur: ["WEUR", "EEUR"],
  wnam: ["WNAM", "ENAM"],
};

/** Returns the name of an environment's containers. */
export const tilersOf = ({ prefix }) => `${prefix}-tilers`;

/** Returns the containers of an environment. */
function containers(settings) {
  const { location, jurisdiction } = settings;
  const { image, instance, most } = settings.containers;
  const [within] = /^(eu|us|fedramp)/.exec(jurisdiction) ?? [];
  return {
    name: tilersOf(settings),
    class_name: "TilerObject",
    image,
    instance_type: instance,
    max_instances: most,
    ssh: { enabled: false },
    rollout_active_grace_period: DRAIN_SECONDS,
    ...((location || within) && { constraints: { ...(location && { regions: REGIONS[location] }), ...(within && { jurisdiction: within }) } }),
  };
}

/** Time for a container's jobs before a new version replaces it: that of the tiler (`edge/src/containers/variables.js`). */
const DRAIN_SECONDS = 780;

/** Returns the variables of the containers' limits. A day's tiles have a limit, too: they cost writes and storage. */
const containerVars = ({ contact, containers }) =>
  containers
    ? {
        CONTAINERS: `${containers.most}`,
        CONTAINER_HOURS_A_DAY: `${containers.hoursADay}`,
        TILES_A_DAY: "1000000",
        ...(contact && { EDGEZOOM_CONTACT: contact }),
      }
    : {};

/** Returns the Worker's domains. */
export const domains = ({ domain, apiDomain, cacheDomain }) => [...new Set([domain, apiDomain, cacheDomain].filter(Boolean))];

/**
 * Returns the variables with addresses. The Worker derives an empty one from BASE_URL, and at workers.dev that one from
 * the request.
 */
export function addresses({ domain, apiDomain, cacheDomain }) {
  const of = (host, path = "") => (host ? `https://${host}${path}` : "");
  return { BASE_URL: of(apiDomain ?? domain), SHARE_BASE: of(domain), CACHE_URL: of(cacheDomain, "/cache") };
}

/** Number of hexadecimal digits of a version's tag. */
const TAG_LENGTH = 16;

/** Returns the tag of a version: a digest of configuration, secrets and build. */
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

/** Runs quietly, without questions and telemetry. */
const ENVIRONMENT = {
  CI: "1",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

/** Runs `wrangler deploy`. The secrets are in a temporary file, because other users can see a program's arguments. */
export async function upload(root, { configuration, environment, tag, secrets, account }) {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-"));
  try {
    const file = join(folder, "secrets.json");
    await writeFile(file, JSON.stringify(secrets), { mode: 0o600 });
    const options = ["--config", configuration, "--env", environment, "--tag", tag, "--secrets-file", file];
    const wrangler = spawn(process.execPath, [join(root, "node_modules/wrangler/bin/wrangler.js"), "deploy", ...options], {
      cwd: root,
      env: { ...process.env, ...ENVIRONMENT, CLOUDFLARE_ACCOUNT_ID: account },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const printed = [];
    for (const stream of [wrangler.stdout, wrangler.stderr]) stream.on("data", (bytes) => printed.push(bytes));
    const code = await new Promise((resolve, reject) => wrangler.on("error", reject).on("close", resolve));
    if (code !== 0) throw new Error(`\`wrangler deploy\` failed with code ${code}:\n${Buffer.concat(printed).toString().trim()}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
