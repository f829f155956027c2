// The bucket of the pyramids with its lifecycle rules. It keeps rules that others have made.

import { first, orNothing } from "./account.mjs";

/** Id of our lifecycle rule. */
const OURS = "edgezoom";

/** A day in seconds. */
const DAY = 86_400;

/** @typedef {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleUpdateParams.Rule} LifecycleRule */

/**
 * Aborts multipart uploads of killed tilers; an upload takes minutes. New buckets already have such a rule.
 * @type {LifecycleRule}
 */
export const ABANDONED = {
  id: OURS,
  enabled: true,
  conditions: { prefix: "" },
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 7 * DAY } },
};

/**
 * Deletes clients' uploads whose conversion never started.
 * @type {LifecycleRule}
 */
export const UPLOADS = {
  id: `${OURS}-uploads`,
  enabled: true,
  conditions: { prefix: "uploads/" },
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: DAY } },
  deleteObjectsTransition: { condition: { type: "Age", maxAge: 2 * DAY } },
};

/** @param {import("./account.mjs").Context} context */
export function buckets({ client, account, jurisdiction, plan }) {
  const { buckets } = client.r2;
  const scope = { account_id: account, "cf-r2-jurisdiction": jurisdiction };
  /** @param {string} name */
  const find = (name) => orNothing(buckets.get(name, scope));

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

  return {
    find,

    /**
     * Finds or creates the bucket with its rules. @param {{ name: string, location?:
     * import("cloudflare/resources/r2/buckets/buckets").BucketCreateParams["locationHint"] }} wanted
     */
    async require({ name, location }) {
      const create = () => buckets.create({ ...scope, name, ...(location && { locationHint: location }) });
      await plan.ensure(`R2 bucket ${name}`, () => find(name), create);
      await requireLifecycle(name);
    },

    /** Deletes the bucket with all pyramids. @param {string} name */
    async remove(name) {
      if (!(await find(name))) return;
      await plan.change("delete", `R2 bucket ${name} and all pyramids in it`, async () => {
        for await (const { key } of buckets.objects.list(name, { ...scope, per_page: 1000 })) {
          if (key) await orNothing(buckets.objects.delete(key, { ...scope, bucket_name: name }));
        }
        await orNothing(buckets.delete(name, scope));
      });
    },
  };
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
