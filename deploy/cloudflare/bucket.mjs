// The bucket of the pyramids with its CORS policy, lifecycle rules and domain. It keeps rules that others have made.

import { first, orNothing } from "./account.mjs";

/** Id of our CORS rule and our lifecycle rule. */
const OURS = "edgezoom";

/**
 * Pages of any origin may read pyramids and these headers, as through the Worker's `/cache/`.
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

/** @typedef {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleUpdateParams.Rule} LifecycleRule */

/**
 * Aborts multipart uploads of killed tilers; an upload takes minutes. New buckets already have such a rule.
 * @type {LifecycleRule}
 */
const ABANDONED = {
  id: OURS,
  enabled: true,
  conditions: { prefix: "" },
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 7 * DAY } },
};

/**
 * Deletes clients' uploads whose conversion never started.
 * @type {LifecycleRule}
 */
const UPLOADS = {
  id: `${OURS}-uploads`,
  enabled: true,
  conditions: { prefix: "uploads/" },
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: DAY } },
  deleteObjectsTransition: { condition: { type: "Age", maxAge: 2 * DAY } },
};

/** Minimum TLS version of the bucket's domain. */
const TLS = "1.2";

/** @param {import("./account.mjs").Context} context */
export function buckets({ client, account, jurisdiction, plan }) {
  const { buckets } = client.r2;
  const scope = { account_id: account, "cf-r2-jurisdiction": jurisdiction };
  /** @param {string} name */
  const find = (name) => orNothing(buckets.get(name, scope));

  /** @param {string} name */
  async function requireCors(name) {
    const rules = (await orNothing(buckets.cors.get(name, scope)))?.rules ?? [];
    if (rules.some(isCors)) return plan.keep(`CORS policy of ${name}`);
    const others = rules.filter(({ id }) => id !== OURS);
    const update = () => buckets.cors.update(name, { ...scope, rules: [...others, CORS] });
    await plan.change("change", `CORS policy of ${name}`, update);
  }

  /** @param {string} name */
  async function requireLifecycle(name) {
    const rules = (await orNothing(buckets.lifecycle.get(name, scope)))?.rules ?? [];
    const missing = [...(rules.some(abortsUploads) ? [] : [ABANDONED]), ...(rules.some(deletesUploads) ? [] : [UPLOADS])];
    const what = `lifecycle rules of ${name}: abandoned uploads, leftover files`;
    if (!missing.length) return plan.keep(what);
    const others = rules.filter(({ id }) => missing.every((rule) => rule.id !== id));
    const update = () => buckets.lifecycle.update(name, { ...scope, rules: [...others, ...missing] });
    await plan.change("change", what, update);
  }

  /** @param {string} name @param {string} domain */
  async function requireDomain(name, domain) {
    const { custom } = buckets.domains;
    /** @returns {Promise<{ enabled: boolean } | undefined>} */
    const find = async () => (await orNothing(custom.list(name, scope)))?.domains.find((one) => one.domain === domain);
    const what = `domain ${domain} of ${name}`;
    const create = async () =>
      custom.create(name, { ...scope, domain, zoneId: await zone(domain), enabled: true, minTLS: TLS });
    const found = await plan.ensure(what, find, create);
    if (found?.enabled !== false) return;
    const enable = () => custom.update(domain, { ...scope, bucket_name: name, enabled: true, minTLS: TLS });
    await plan.change("change", `${what}: enabled`, enable);
  }

  /** Returns the id of the zone that contains a domain. @param {string} domain */
  async function zone(domain) {
    const labels = domain.split(".");
    for (let from = 0; from < labels.length - 1; from++) {
      const name = labels.slice(from).join(".");
      const found = await first(client.zones.list({ name, account: { id: account } }), (one) => one.name === name);
      if (found) return found.id;
    }
    throw new Error(`the account has no zone for ${domain}; add the domain to Cloudflare first`);
  }

  return {
    find,

    /**
     * Finds or creates the bucket with its rules and domain.
     * @param {{ name: string, location?: import("cloudflare/resources/r2/buckets/buckets").BucketCreateParams["locationHint"], domain?: string }} wanted
     */
    async require({ name, location, domain }) {
      const create = () => buckets.create({ ...scope, name, ...(location && { locationHint: location }) });
      await plan.ensure(`R2 bucket ${name}`, () => find(name), create);
      await requireCors(name);
      await requireLifecycle(name);
      if (domain) await requireDomain(name, domain);
    },

    /** Deletes the bucket with all pyramids. @param {string} name */
    async remove(name) {
      if (!(await find(name))) return;
      await plan.change("delete", `R2 bucket ${name} and all pyramids in it`, async () => {
        for await (const { key } of buckets.objects.list(name, { ...scope, per_page: 1000 })) {
          if (key) await orNothing(buckets.objects.delete(key, { ...scope, bucket_name: name }));
        }
        const { custom } = buckets.domains;
        for (const { domain } of (await orNothing(custom.list(name, scope)))?.domains ?? []) {
          await orNothing(custom.delete(domain, { ...scope, bucket_name: name }));
        }
        await orNothing(buckets.delete(name, scope));
      });
    },
  };
}

/**
 * Returns true if this is our rule, unchanged. The API returns fields in another order.
 * @param {import("cloudflare/resources/r2/buckets/cors").CORSGetResponse.Rule} rule
 */
function isCors({ id, allowed, exposeHeaders, maxAgeSeconds }) {
  const text = (/** @type {typeof CORS} */ of) =>
    JSON.stringify(
      [of.allowed.origins, of.allowed.methods, of.allowed.headers, of.exposeHeaders, of.maxAgeSeconds].map(String),
    );
  return id === OURS && text({ allowed, exposeHeaders, maxAgeSeconds }) === text(CORS);
}

/** @param {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleGetResponse.Rule} rule */
function deletesUploads({ enabled, conditions, deleteObjectsTransition }) {
  return enabled && conditions?.prefix === UPLOADS.conditions.prefix && deleteObjectsTransition?.condition?.type === "Age";
}

/** @param {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleGetResponse.Rule} rule */
function abortsUploads({ enabled, conditions, abortMultipartUploadsTransition }) {
  const age = abortMultipartUploadsTransition?.condition?.maxAge ?? Infinity;
  return enabled && !conditions?.prefix && age <= 7 * DAY;
}
