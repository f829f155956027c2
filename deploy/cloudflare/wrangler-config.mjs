// The configuration with which wrangler uploads the Worker: wrangler.toml, which is that of the local service, with the
// names and addresses of each environment. Wrangler's environments inherit no bindings, so each has all of them.

/** Where the generated file is, seen from the repository's top. */
export const FOLDER = ".edgezoom";
/** A KV namespace that does not exist yet, in a dry run. */
export const UNKNOWN_ID = "0".repeat(32);
/** How far apart the rate limiters of two environments are numbered: a number is one counter for the whole account. */
const RATE_LIMITS_APART = 1000;
/** What the environments say for themselves. */
const OF_AN_ENVIRONMENT = [
  "analytics_engine_datasets",
  "assets",
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

/** The names of what the Worker is bound to, by binding. */
export function resources(base, { prefix, names }) {
  const named = (name, binding) => names[binding] ?? `${prefix}-${name}`;
  const ours = (name) => (name.startsWith(`${base.name}-`) ? name.slice(base.name.length + 1) : name);
  return {
    namespaces: (base.kv_namespaces ?? []).map(({ binding }) => ({
      binding,
      title: named(binding.toLowerCase(), binding),
    })),
    buckets: (base.r2_buckets ?? []).map(({ binding, bucket_name: name }) => ({
      binding,
      name: named(ours(name), binding),
    })),
    queues: (base.queues?.producers ?? []).map(({ binding, queue }) => ({
      binding,
      name: named(ours(queue), binding),
    })),
  };
}

/**
 * The whole configuration. `environments` are the settings of those to write, each with the ids of its KV namespaces by
 * binding.
 */
export function configuration(base, environments) {
  const common = Object.fromEntries(Object.entries(base).filter(([key]) => !OF_AN_ENVIRONMENT.includes(key)));
  const env = environments.map((settings, index) => [settings.environment, environment(base, settings, index)]);
  return { ...common, main: `../${base.main}`, env: Object.fromEntries(env) };
}

function environment(base, settings, index) {
  const { prefix, ids } = settings;
  const { namespaces, buckets, queues } = resources(base, settings);
  const optional = (key, value) => (value === undefined ? {} : { [key]: value });
  const at = domains(settings);
  return {
    name: prefix,
    workers_dev: at.length === 0,
    preview_urls: base.preview_urls,
    ...optional("routes", at.length ? at.map((pattern) => ({ pattern, custom_domain: true })) : undefined),
    ...optional("observability", base.observability),
    assets: { ...base.assets, directory: `../${base.assets.directory}` },
    vars: { ...base.vars, ...addresses(settings), ...settings.vars },
    ...optional("secrets", base.secrets),
    kv_namespaces: namespaces.map(({ binding }) => ({ binding, id: ids?.[binding] ?? UNKNOWN_ID })),
    r2_buckets: buckets.map(({ binding, name }) => ({ binding, bucket_name: name, ...jurisdiction(settings) })),
    queues: { producers: queues.map(({ binding, name }) => ({ binding, queue: name })) },
    durable_objects: base.durable_objects,
    // The names of datasets are those of tables in SQL.
    analytics_engine_datasets: (base.analytics_engine_datasets ?? []).map(({ binding }) => ({
      binding,
      dataset: prefix.replaceAll("-", "_"),
    })),
    ratelimits: (base.ratelimits ?? []).map((limit) => rateLimit(limit, settings, index)),
  };
}

/** The Worker's domains. */
export const domains = ({ domain, apiDomain }) => [...new Set([domain, apiDomain].filter(Boolean))];

/** An address that is not set follows from BASE_URL, and that one, at workers.dev, from the request. */
function addresses({ domain, apiDomain, cacheDomain, cacheUrl }) {
  const of = (host) => (host ? `https://${host}` : "");
  return { BASE_URL: of(apiDomain ?? domain), SHARE_BASE: of(domain), CACHE_URL: cacheUrl ?? of(cacheDomain) };
}

const jurisdiction = ({ jurisdiction: where }) => (where === "default" ? {} : { jurisdiction: where });

function rateLimit({ namespace_id: number, simple, ...rest }, { creationsPerMinute }, index) {
  const isOfCreations = rest.name === "CREATIONS" && creationsPerMinute !== undefined;
  const limit = isOfCreations ? { limit: creationsPerMinute, period: 60 } : simple;
  return { ...rest, namespace_id: String(Number(number) + index * RATE_LIMITS_APART), simple: limit };
}
