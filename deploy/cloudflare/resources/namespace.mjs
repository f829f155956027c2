// A KV namespace.

import { first, orNothing } from "./api.mjs";

/** As many as one page of the list can have. */
const PER_PAGE = 100;

/**
 * The id of the namespace with this title.
 * @param {import("./api.mjs").Api} api
 * @param {string} title
 */
export async function find({ client, account }, title) {
  const all = client.kv.namespaces.list({ account_id: account, per_page: PER_PAGE });
  return (await first(all, (namespace) => namespace.title === title))?.id;
}

/**
 * The same, created if there is none; `undefined` in a dry run.
 * @param {import("./api.mjs").Api} api
 * @param {import("../plan.mjs").Plan} plan
 * @param {string} title
 * @returns {Promise<string | undefined>}
 */
export function require(api, plan, title) {
  const create = async () => (await api.client.kv.namespaces.create({ account_id: api.account, title })).id;
  return plan.ensure(`KV namespace ${title}`, () => find(api, title), create);
}

/**
 * @param {import("./api.mjs").Api} api
 * @param {import("../plan.mjs").Plan} plan
 * @param {string} title
 */
export async function remove(api, plan, title) {
  const id = await find(api, title);
  if (id === undefined) return;
  const { namespaces } = api.client.kv;
  await plan.change("delete", `KV namespace ${title}`, () =>
    orNothing(namespaces.delete(id, { account_id: api.account })),
  );
}
