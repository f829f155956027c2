// The tilers' API tokens: one may only pull from the queue, the other only read and write the bucket. The API shows a
// token's value once, when it is created. Deploying first notes which token it creates, so that a token whose value was
// lost gets a new value: no tiler has the old one.

import { first, isForbidden, orNothing } from "./account.mjs";

/**
 * @typedef {object} Wanted
 * @property {string} name
 * @property {string[]} permissions Names of permission groups.
 * @property {string} resource Cloudflare's name of the resource that the token is for.
 */

/**
 * Describes the token for all queues of the account: there is no narrower resource.
 * https://developers.cloudflare.com/queues/configuration/pull-consumers/#create-api-tokens
 * @param {string} prefix
 * @param {{ account: string }} api
 * @returns {Wanted}
 */
export function ofQueue(prefix, { account }) {
  const permissions = ["Queues Read", "Queues Write"];
  return { name: `${prefix} tilers: queue`, permissions, resource: `com.cloudflare.api.account.${account}` };
}

/**
 * Describes the token for the bucket.
 * https://developers.cloudflare.com/r2/api/tokens/#create-api-tokens-via-api
 * @param {string} prefix
 * @param {import("./account.mjs").Api} api
 * @param {string} bucket
 * @returns {Wanted}
 */
export function ofBucket(prefix, { account, jurisdiction }, bucket) {
  const permissions = ["Workers R2 Storage Bucket Item Read", "Workers R2 Storage Bucket Item Write"];
  const resource = `com.cloudflare.edge.r2.bucket.${account}_${jurisdiction}_${bucket}`;
  return { name: `${prefix} tilers: bucket`, permissions, resource };
}

/** @param {import("./account.mjs").Context} context */
export function tokens({ client, account, plan }) {
  const { tokens } = client.accounts;
  const scope = { account_id: account };
  /** @param {string} name @returns {Promise<string | undefined>} */
  const find = async (name) => (await first(tokens.list(scope), (token) => token.name === name))?.id;

  /** @param {Wanted} wanted */
  async function create({ name, permissions, resource }) {
    const groups = await Promise.all(permissions.map(group));
    /** @type {import("cloudflare/resources/shared").TokenPolicyParam} */
    const policy = { effect: "allow", permission_groups: groups, resources: { [resource]: "*" } };
    try {
      const { id, value } = await tokens.create({ ...scope, name, policies: [policy] }, { maxRetries: 0 });
      if (id && value) return { id, value };
    } catch (error) {
      const id = isForbidden(error) ? undefined : await find(name);
      if (id === undefined) throw error;
      return renew(id);
    }
    throw new Error(`Cloudflare created the token “${name}” but returned no value; run this again`);
  }

  /** @param {string} id */
  const renew = async (id) => ({ id, value: await tokens.value.update(id, scope, { body: {} }) });

  /** @param {string} name @returns {Promise<{ id: string }>} */
  async function group(name) {
    const found = await first(tokens.permissionGroups.list(scope), (one) => one.name === name);
    if (!found?.id) throw new Error(`Cloudflare has no permission “${name}”`);
    return { id: found.id };
  }

  return {
    /**
     * Returns the id and value of a token that is created or renewed; nothing if it is kept, in a dry run, or if it
     * must be created by hand. `known` is true if its value is known here, `renew` if it must get a new value, `begun`
     * if an earlier run noted it with `begin` but did not store its value.
     * @param {Wanted} wanted
     * @param {{ known: boolean, begun: boolean, renew: boolean, begin: () => Promise<void> }} how
     * @returns {Promise<{ id: string, value: string } | undefined>}
     */
    async require(wanted, how) {
      const what = `API token “${wanted.name}”`;
      try {
        const id = await find(wanted.name);
        if (id === undefined || how.renew || how.begun) {
          return await plan.change(id === undefined ? "create" : "renew", what, async () => {
            await how.begin();
            return id === undefined ? create(wanted) : renew(id);
          });
        }
        if (how.known) plan.keep(what);
        else plan.note(`${what} exists, but its value is not known here; \`--renew-tokens\` gives it a new one`);
      } catch (error) {
        if (!isForbidden(error)) throw error;
        const advice = how.known
          ? "its known value stays in use"
          : `create one by hand with ${wanted.permissions.join(" and ")}, and fill it into the tilers' variables`;
        plan.note(`${what}: CLOUDFLARE_API_TOKEN may not manage tokens; ${advice}`);
      }
      return undefined;
    },

    /** @param {string} name */
    async remove(name) {
      try {
        const id = await find(name);
        if (id) await plan.change("delete", `API token “${name}”`, () => orNothing(tokens.delete(id, scope)));
      } catch (error) {
        if (!isForbidden(error)) throw error;
        plan.note(`API token “${name}”: CLOUDFLARE_API_TOKEN may not manage tokens; delete it by hand if it exists`);
      }
    },
  };
}
