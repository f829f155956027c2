// The queue of the jobs, and that tilers pull from it.

import { first, orNothing } from "./api.mjs";

/**
 * How the queue treats a message that is pulled. A tiler says for each pull how many it takes and for how long; a
 * message that no tiler settles is one that no tiler could use, and the Durable Object of its content sends another
 * one.
 * @type {import("cloudflare/resources/queues/consumers").ConsumerCreateParams.MqHTTPConsumerRequest.Settings}
 */
const PULLING = { batch_size: 10, max_retries: 100, retry_delay: 0, visibility_timeout_ms: 60_000 };

/**
 * @typedef {import("./api.mjs").Api} Api
 * @typedef {import("../plan.mjs").Plan} Plan
 */

/**
 * The id of the queue with this name.
 * @param {Api} api
 * @param {string} name
 */
export async function find({ client, account }, name) {
  return (await first(client.queues.list({ account_id: account }), (queue) => queue.queue_name === name))?.queue_id;
}

/**
 * The same, created if there is none, with its consumer; `undefined` in a dry run.
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 * @returns {Promise<string | undefined>}
 */
export async function require(api, plan, name) {
  const create = async () => (await api.client.queues.create({ account_id: api.account, queue_name: name })).queue_id;
  const id = await plan.ensure(`queue ${name}`, () => find(api, name), create);
  await consumer(api, plan, name, id);
  return id;
}

/**
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 * @param {string | undefined} id
 */
async function consumer({ client, account }, plan, name, id) {
  const { consumers } = client.queues;
  /** @returns {Promise<import("cloudflare/resources/queues/consumers").Consumer | undefined>} */
  const find = async () => (id ? first(consumers.list(id, { account_id: account }), () => true) : undefined);
  const what = `pull consumer of ${name}`;
  /** @type {import("cloudflare/resources/queues/consumers").ConsumerCreateParams.MqHTTPConsumerRequest} */
  const wanted = { account_id: account, type: "http_pull", settings: PULLING };
  const found = await plan.ensure(what, find, () => consumers.create(id ?? "", wanted));
  if (!found) return;
  if (found.type !== "http_pull")
    throw new Error(`${name} has a Worker as its consumer: delete that, so that tilers can pull`);
  const { settings = {}, consumer_id } = found;
  const isAsWanted = Object.entries(PULLING).every(
    ([key, value]) => settings[/** @type {keyof typeof settings} */ (key)] === value,
  );
  if (isAsWanted || !consumer_id || !id) return;
  await plan.change("change", what, () => consumers.update(consumer_id, { ...wanted, queue_id: id }));
}

/**
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 */
export async function remove(api, plan, name) {
  const id = await find(api, name);
  if (id === undefined) return;
  await plan.change("delete", `queue ${name}`, () =>
    orNothing(api.client.queues.delete(id, { account_id: api.account })),
  );
}
