// The Cloudflare account: its API client, and what the service needs besides its bucket and tokens, which are the KV
// namespace, the queue with its pull consumer, the Worker, and its containers.

import Cloudflare, { APIError } from "cloudflare";

/**
 * @typedef {"default" | "eu" | "us" | "fedramp" | "fedramp-high"} Jurisdiction
 * @typedef {object} Api
 * @property {Cloudflare} client
 * @property {string} account
 * @property {Jurisdiction} jurisdiction Jurisdiction of the bucket.
 * @typedef {Api & { plan: import("./plan.mjs").Plan }} Context An account, and the plan that makes changes to it.
 */

/** Retries of a call after a transient failure; the client doubles the pause each time. */
const RETRIES = 4;

/**
 * Returns the API of an account. `token` and `address` have the meaning of wrangler's CLOUDFLARE_API_TOKEN and
 * CLOUDFLARE_API_BASE_URL.
 * @param {{ account: string, jurisdiction: Jurisdiction, token: string, address?: string, retries?: number }} options
 * @returns {Api}
 */
export function api({ account, jurisdiction, token, address, retries = RETRIES }) {
  const client = new Cloudflare({ apiToken: token, baseURL: address, maxRetries: retries });
  return { client, account, jurisdiction };
}

/**
 * Turns the response 404 into `undefined`.
 * @template T
 * @param {Promise<T>} answer
 * @returns {Promise<T | undefined>}
 */
export async function orNothing(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof APIError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Returns true if the API rejects a call because the token lacks a permission.
 * @param {unknown} error
 */
export const isForbidden = (error) => error instanceof APIError && (error.status === 401 || error.status === 403);

/**
 * Returns the first item of a paginated list that satisfies `fits`.
 * @template T
 * @param {AsyncIterable<T>} list
 * @param {(item: T) => boolean} fits
 * @returns {Promise<T | undefined>}
 */
export async function first(list, fits) {
  for await (const item of list) if (fits(item)) return item;
  return undefined;
}

/** @param {Context} context */
export function namespaces({ client: { kv }, account, plan }) {
  const scope = { account_id: account };
  /** Returns the id of a namespace. @param {string} title */
  const find = async (title) =>
    (await first(kv.namespaces.list({ ...scope, per_page: 100 }), (namespace) => namespace.title === title))?.id;
  return {
    find,
    /** Finds or creates a namespace and returns its id, `undefined` in a dry run. @param {string} title */
    require: (title) =>
      plan.ensure(
        `KV namespace ${title}`,
        () => find(title),
        async () => (await kv.namespaces.create({ ...scope, title })).id,
      ),
    /** @param {string} title */
    async remove(title) {
      const id = await find(title);
      if (id) await plan.change("delete", `KV namespace ${title}`, () => orNothing(kv.namespaces.delete(id, scope)));
    },
  };
}

/**
 * Settings of the pull consumer. A tiler's pull request overrides batch size and time-out. A message that no tiler
 * settles is unusable, and its content's Durable Object sends another one.
 * @type {import("cloudflare/resources/queues/consumers").ConsumerCreateParams.MqHTTPConsumerRequest.Settings}
 */
const PULLING = { batch_size: 10, max_retries: 100, retry_delay: 0, visibility_timeout_ms: 60_000 };

/**
 * The queue of jobs. wrangler could create the queue, but its configuration knows no pull consumers.
 * @param {Context} context
 */
export function queues({ client: { queues }, account, plan }) {
  const scope = { account_id: account };
  /** Returns the id of a queue. @param {string} name */
  const find = async (name) => (await first(queues.list(scope), (queue) => queue.queue_name === name))?.queue_id;
  /** @param {string} name @param {string | undefined} id */
  async function requireConsumer(name, id) {
    const { consumers } = queues;
    /** @type {import("cloudflare/resources/queues/consumers").ConsumerCreateParams.MqHTTPConsumerRequest} */
    const wanted = { ...scope, type: "http_pull", settings: PULLING };
    /** @returns {Promise<import("cloudflare/resources/queues/consumers").Consumer | undefined>} */
    const find = async () => (id ? first(consumers.list(id, scope), () => true) : undefined);
    const found = await plan.ensure(`pull consumer of ${name}`, find, () => consumers.create(id ?? "", wanted));
    if (!found) return;
    if (found.type !== "http_pull")
      throw new Error(`the consumer of ${name} is a Worker; delete that consumer so that tilers can pull`);
    const { settings = {}, consumer_id } = found;
    /** @type {Record<string, unknown>} */
    const actual = { ...settings };
    if (!consumer_id || !id || Object.entries(PULLING).every(([key, value]) => actual[key] === value)) return;
    const change = () => consumers.update(consumer_id, { ...wanted, queue_id: id });
    await plan.change("change", `pull consumer of ${name}`, change);
  }
  return {
    /** Finds or creates a queue with its consumer and returns its id, `undefined` in a dry run. @param {string} name */
    async require(name) {
      const create = async () => (await queues.create({ ...scope, queue_name: name })).queue_id;
      const id = await plan.ensure(`queue ${name}`, () => find(name), create);
      await requireConsumer(name, id);
      return id;
    },
    /** @param {string} name */
    async remove(name) {
      try {
        const id = await find(name);
        if (id) await plan.change("delete", `queue ${name}`, () => orNothing(queues.delete(id, scope)));
      } catch (error) {
        if (!isForbidden(error)) throw error;
        plan.note(`queue ${name}: CLOUDFLARE_API_TOKEN may not see queues; delete it by hand if it exists`);
      }
    },
  };
}

/**
 * The containers, which Cloudflare calls an application. wrangler makes it; Cloudflare's client does not know it.
 * @param {Context} context
 */
export function applications({ client, account, plan }) {
  const path = `/accounts/${account}/containers/applications`;
  return {
    /** @param {string} name */
    async remove(name) {
      const what = `containers ${name}`;
      try {
        const { result } = /** @type {{ result: { id: string, name: string }[] }} */ (await client.get(path));
        const id = result.find((one) => one.name === name)?.id;
        if (id) await plan.change("delete", what, () => orNothing(client.delete(`${path}/${id}`)));
      } catch (error) {
        if (!isForbidden(error)) throw error; // without the permission, none was made either
      }
    },
  };
}

/** The annotation that `wrangler deploy --tag` writes. */
const TAG = "workers/tag";

/**
 * The Worker. wrangler uploads it; this tells what is deployed.
 * @param {Context} context
 */
export function workers({ client: { workers }, account, plan }) {
  const scope = { account_id: account };
  return {
    /** Returns the tag of the version that serves all requests. @param {string} name */
    async deployedTag(name) {
      const page = await orNothing(workers.scripts.deployments.list(name, scope));
      // The client's type is wrong: the list is in an object.
      const listed =
        /** @type {import("cloudflare/resources/workers/scripts/deployments").DeploymentListResponse | undefined} */ (
          /** @type {unknown} */ (page?.result)
        );
      const [version, other] = listed?.deployments?.[0]?.versions ?? [];
      if (!version || other) return undefined; // none, or a gradual deployment of two
      const versionScope = { ...scope, script_name: name };
      const found = await orNothing(workers.scripts.versions.get(version.version_id, versionScope));
      const { annotations } = /** @type {{ annotations?: Record<string, string> }} */ (found ?? {});
      return annotations?.[TAG];
    },

    /**
     * Returns true if the Worker answers at exactly these domains, or without any at workers.dev. wrangler sets them
     * last.
     * @param {string} name
     * @param {string[]} domains
     */
    async answersAt(name, domains) {
      const subdomain = await orNothing(workers.scripts.subdomain.get(name, scope));
      const found = [];
      for await (const { hostname } of workers.domains.list({ ...scope, service: name })) found.push(hostname);
      return subdomain?.enabled === !domains.length && String(found.sort()) === String([...domains].sort());
    },

    /**
     * Returns true if the Worker has a secret, whose value cannot be read.
     * @param {string} name
     * @param {string} secret
     */
    async hasSecret(name, secret) {
      const all = workers.scripts.secrets.list(name, scope);
      return (await orNothing(first(all, (one) => one.name === secret))) !== undefined;
    },

    /** Returns the URL of a Worker without domains. @param {string} name */
    async defaultAddress(name) {
      const found = await orNothing(workers.subdomains.get(scope));
      if (!found)
        throw new Error("the account has no workers.dev subdomain; choose one in the dashboard, or set `domain` in edgezoom.toml");
      return `https://${name}.${found.subdomain}.workers.dev`;
    },

    /**
     * Deletes the Worker, its domains, and its Durable Objects with the state of unfinished contents.
     * @param {string} name
     */
    async remove(name) {
      for await (const { id, hostname } of workers.domains.list({ ...scope, service: name })) {
        if (id) await plan.change("delete", `domain ${hostname}`, () => orNothing(workers.domains.delete(id, scope)));
      }
      if (!(await first(workers.scripts.list(scope), ({ id }) => id === name))) return;
      const remove = () => orNothing(workers.scripts.delete(name, { ...scope, force: true }));
      await plan.change("delete", `Worker ${name} and its Durable Objects`, remove);
    },
  };
}
