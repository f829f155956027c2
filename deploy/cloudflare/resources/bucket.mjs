// The bucket of the pyramids, its CORS policy, its lifecycle and its domain. Rules that others have made are left
// alone.

import { first, orNothing } from "./api.mjs";

/** What marks our CORS rule and our lifecycle rule. */
const OURS = "edgezoom";

/**
 * Pages anywhere may read pyramids, and their headers, as from the Worker's `/cache/`.
 * @type {import("cloudflare/resources/r2/buckets/cors").CORSUpdateParams.Rule}
 */
const CORS = {
  id: OURS,
  allowed: { origins: ["*"], methods: ["GET", "HEAD"], headers: ["range"] },
  exposeHeaders: ["ETag", "Content-Range", "Accept-Ranges"],
  maxAgeSeconds: 86_400,
};

/** A day in seconds. */
const DAY = 86_400;

/** After how many seconds an upload in parts is given up. Uploads take minutes; a tiler that was killed leaves one. */
const ABANDONED = 7 * DAY;

/**
 * Files that clients send wait for their conversion there. What is left when a client goes away is deleted.
 * @type {LifecycleRule}
 */
const CLIENTS_FILES = {
  id: `${OURS}-uploads`,
  enabled: true,
  conditions: { prefix: "uploads/" },
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: DAY } },
  deleteObjectsTransition: { condition: { type: "Age", maxAge: 2 * DAY } },
};

/** The oldest TLS that the bucket's domain speaks. */
const TLS = "1.2";

/**
 * @typedef {import("./api.mjs").Api} Api
 * @typedef {import("../plan.mjs").Plan} Plan
 * @typedef {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleUpdateParams.Rule} LifecycleRule
 * @typedef {import("cloudflare/resources/r2/buckets/buckets").BucketCreateParams["locationHint"]} Location
 */

/**
 * @param {Api} api
 * @param {Plan} plan
 * @param {{ name: string, location?: Location, domain?: string }} wanted
 */
export async function require(api, plan, { name, location, domain }) {
  const { buckets } = api.client.r2;
  await plan.ensure(
    `R2 bucket ${name}`,
    () => find(api, name),
    () => buckets.create({ ...scope(api), name, ...(location && { locationHint: location }) }),
  );
  await cors(api, plan, name);
  await lifecycle(api, plan, name);
  if (domain) await customDomain(api, plan, name, domain);
}

/**
 * @param {Api} api
 * @param {string} name
 */
export const find = (api, name) => orNothing(api.client.r2.buckets.get(name, scope(api)));

/**
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 */
async function cors(api, plan, name) {
  const { cors } = api.client.r2.buckets;
  const rules = (await orNothing(cors.get(name, scope(api))))?.rules ?? [];
  const what = `CORS policy of ${name}`;
  if (rules.some(isOurs)) return plan.keep(what);
  const others = rules.filter(({ id }) => id !== OURS);
  await plan.change("change", what, () => cors.update(name, { ...scope(api), rules: [...others, CORS] }));
}

/**
 * Whether the rule is there as it should be: the provider gives the fields back in an order of its own.
 * @param {import("cloudflare/resources/r2/buckets/cors").CORSGetResponse.Rule} rule
 */
function isOurs({ id, allowed, exposeHeaders, maxAgeSeconds }) {
  const text = (/** @type {typeof CORS} */ of) =>
    JSON.stringify(
      [of.allowed.origins, of.allowed.methods, of.allowed.headers, of.exposeHeaders, of.maxAgeSeconds].map(String),
    );
  return id === OURS && text({ allowed, exposeHeaders, maxAgeSeconds }) === text(CORS);
}

/**
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 */
async function lifecycle(api, plan, name) {
  const { lifecycle } = api.client.r2.buckets;
  const rules = (await orNothing(lifecycle.get(name, scope(api))))?.rules ?? [];
  const what = `lifecycle of ${name}: uploads that are given up, files that are left`;
  const hasClientsFiles = rules.some(deletesClientsFiles);
  const isComplete = rules.some(endsUploads); // new buckets have such a rule
  if (isComplete && hasClientsFiles) return plan.keep(what);
  /** @type {LifecycleRule} */
  const rule = {
    id: OURS,
    enabled: true,
    conditions: { prefix: "" },
    abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: ABANDONED } },
  };
  const missing = [...(isComplete ? [] : [rule]), ...(hasClientsFiles ? [] : [CLIENTS_FILES])];
  const others = rules.filter(({ id }) => missing.every((rule) => rule.id !== id));
  await plan.change("change", what, () => lifecycle.update(name, { ...scope(api), rules: [...others, ...missing] }));
}

/** @param {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleGetResponse.Rule} rule */
function deletesClientsFiles({ enabled, conditions, deleteObjectsTransition }) {
  const condition = deleteObjectsTransition?.condition;
  return enabled && conditions?.prefix === CLIENTS_FILES.conditions.prefix && condition?.type === "Age";
}

/** @param {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleGetResponse.Rule} rule */
function endsUploads({ enabled, conditions, abortMultipartUploadsTransition }) {
  const age = abortMultipartUploadsTransition?.condition?.maxAge ?? Infinity;
  return enabled && !conditions?.prefix && age <= ABANDONED;
}

/**
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 * @param {string} domain
 */
async function customDomain(api, plan, name, domain) {
  const { custom } = api.client.r2.buckets.domains;
  /** @returns {Promise<{ enabled: boolean } | undefined>} */
  const listed = async () =>
    (await orNothing(custom.list(name, scope(api))))?.domains.find((one) => one.domain === domain);
  const what = `domain ${domain} of ${name}`;
  const create = async () =>
    custom.create(name, { ...scope(api), domain, zoneId: await zone(api, domain), enabled: true, minTLS: TLS });
  const found = await plan.ensure(what, listed, create);
  if (found?.enabled === false) {
    await plan.change("change", `${what}: enabled`, () =>
      custom.update(domain, { ...scope(api), bucket_name: name, enabled: true, minTLS: TLS }),
    );
  }
}

/**
 * The id of the zone that a domain is in.
 * @param {Api} api
 * @param {string} domain
 */
async function zone({ client, account }, domain) {
  const labels = domain.split(".");
  for (let from = 0; from < labels.length - 1; from++) {
    const name = labels.slice(from).join(".");
    const found = await first(client.zones.list({ name, account: { id: account } }), (one) => one.name === name);
    if (found) return found.id;
  }
  throw new Error(`the account has no zone for ${domain}: add the domain to Cloudflare first`);
}

/**
 * Deletes the bucket with all pyramids.
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 */
export async function remove(api, plan, name) {
  const { buckets } = api.client.r2;
  if (!(await find(api, name))) return;
  await plan.change("delete", `R2 bucket ${name} and all pyramids in it`, async () => {
    for await (const { key } of buckets.objects.list(name, { ...scope(api), per_page: 1000 })) {
      if (key) await orNothing(buckets.objects.delete(key, { ...scope(api), bucket_name: name }));
    }
    for (const { domain } of (await orNothing(buckets.domains.custom.list(name, scope(api))))?.domains ?? []) {
      await orNothing(buckets.domains.custom.delete(domain, { ...scope(api), bucket_name: name }));
    }
    await orNothing(buckets.delete(name, scope(api)));
  });
}

/** @param {Api} api */
const scope = ({ account, jurisdiction }) => ({ account_id: account, "cf-r2-jurisdiction": jurisdiction });
