// A token for tilers: one that may do nothing but pull from the queue, and one that may do nothing but read and write
// the bucket. A token's value is seen once, when it is made. It is noted before that which token is being made, so that
// one whose value was lost on the way gets another one: no tiler has the old one.

import { first, isForbidden, orNothing } from "./api.mjs";

/**
 * @typedef {import("./api.mjs").Api} Api
 * @typedef {import("../plan.mjs").Plan} Plan
 * @typedef {object} Wanted
 * @property {string} name
 * @property {string[]} permissions The names of permission groups.
 * @property {string} resource What it is for, as the provider names it.
 */

/**
 * The account's queues: there is no narrower resource.
 * https://developers.cloudflare.com/queues/configuration/pull-consumers/#create-api-tokens
 * @param {string} prefix
 * @param {string} account
 * @returns {Wanted}
 */
export function ofQueue(prefix, account) {
  const permissions = ["Queues Read", "Queues Write"];
  return { name: `${prefix} tilers: queue`, permissions, resource: `com.cloudflare.api.account.${account}` };
}

/**
 * https://developers.cloudflare.com/r2/api/tokens/#create-api-tokens-via-api
 * @param {string} prefix
 * @param {Api} api
 * @param {string} bucket
 * @returns {Wanted}
 */
export function ofBucket(prefix, { account, jurisdiction }, bucket) {
  const permissions = ["Workers R2 Storage Bucket Item Read", "Workers R2 Storage Bucket Item Write"];
  return {
    name: `${prefix} tilers: bucket`,
    permissions,
    resource: `com.cloudflare.edge.r2.bucket.${account}_${jurisdiction}_${bucket}`,
  };
}

/**
 * @param {Api} api
 * @param {string} name
 * @returns {Promise<string | undefined>}
 */
export async function find({ client, account }, name) {
  return (await first(client.accounts.tokens.list({ account_id: account }), (token) => token.name === name))?.id;
}

/**
 * The token's id and value when it is new; nothing when it is kept, in a dry run, and where it has to be made by hand.
 * `begin` notes that a value is being made, and `begun` says that one was not finished; `known` says whether the value
 * is known here, `renew` whether it shall be another one.
 * @param {Api} api
 * @param {Plan} plan
 * @param {Wanted} wanted
 * @param {{ known: boolean, begun: boolean, renew: boolean, begin: () => Promise<void> }} how
 * @returns {Promise<{ id: string, value: string } | undefined>}
 */
export async function require(api, plan, wanted, how) {
  const what = `API token “${wanted.name}”`;
  try {
    const id = await find(api, wanted.name);
    if (id === undefined) {
      return await plan.change("create", what, async () => {
        await how.begin();
        return create(api, wanted);
      });
    }
    if (how.renew || how.begun) {
      return await plan.change("renew", what, async () => {
        await how.begin();
        return renew(api, id);
      });
    }
    if (how.known) plan.keep(what);
    else
      plan.note(
        `${what} exists with a value that is not known here; \`--renew-tokens\` gives it another`,
      );
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const by = how.known
      ? "its value is known here and stays"
      : `make one by hand, for ${wanted.permissions.join(" and ")}`;
    plan.note(`${what}: CLOUDFLARE_API_TOKEN may not manage tokens; ${by}`);
  }
  return undefined;
}

/**
 * @param {Api} api
 * @param {Wanted} wanted
 */
async function create(api, { name, permissions, resource }) {
  const { client, account } = api;
  const groups = await Promise.all(permissions.map((permission) => group(api, permission)));
  /** @type {import("cloudflare/resources/shared").TokenPolicyParam} */
  const policy = { effect: "allow", permission_groups: groups, resources: { [resource]: "*" } };
  try {
    const { id, value } = await client.accounts.tokens.create(
      { account_id: account, name, policies: [policy] },
      { maxRetries: 0 },
    );
    if (id && value) return { id, value };
  } catch (error) {
    const id = isForbidden(error) ? undefined : await find(api, name);
    if (id === undefined) throw error;
    return renew(api, id);
  }
  throw new Error(`the provider has made the token “${name}”, but gave no value`);
}

/**
 * @param {Api} api
 * @param {string} id
 */
async function renew({ client, account }, id) {
  return { id, value: await client.accounts.tokens.value.update(id, { account_id: account }, { body: {} }) };
}

/**
 * @param {Api} api
 * @param {string} name
 * @returns {Promise<{ id: string }>}
 */
async function group({ client, account }, name) {
  const all = client.accounts.tokens.permissionGroups.list({ account_id: account });
  const found = await first(all, (one) => one.name === name);
  if (!found?.id) throw new Error(`the provider knows no permission “${name}”`);
  return { id: found.id };
}

/**
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 */
export async function remove(api, plan, name) {
  try {
    const id = await find(api, name);
    if (id === undefined) return;
    const { tokens } = api.client.accounts;
    await plan.change("delete", `API token “${name}”`, () => orNothing(tokens.delete(id, { account_id: api.account })));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    plan.note(`API token “${name}”: CLOUDFLARE_API_TOKEN may not manage tokens; delete it by hand if there is one`);
  }
}
