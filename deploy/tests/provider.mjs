// A fake of Cloudflare's API: an account in memory behind the real paths. It rejects unknown fields (requests.mjs),
// answers in the real format with paginated lists, and can fail on request.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { BODIES } from "./requests.mjs";

export const ACCOUNT = "0123456789abcdef0123456789abcdef";
export const TOKEN = "the-operators-token";

/** The ways in which a call can fail once. */
export const FAILURES = {
  /** A transient error before the call takes effect. */
  refused: "refused",
  /** The call takes effect, but its response is lost. */
  lost: "lost",
  /** A permanent error, which ends the task. */
  fatal: "fatal",
};

/** Starts the API of an empty account. Calls whose paths begin with one of `forbidden` are refused. */
export async function start({ forbidden = [] } = {}) {
  const account = {
    namespaces: new Map(),
    buckets: new Map(),
    queues: new Map(),
    tokens: new Map(),
    scripts: new Map(),
    domains: new Map(),
    /** Applications of containers. */
    applications: new Map(),
  };
  const log = [];
  const failed = new Set();
  let failure;

  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url, "http://provider");
    const call = `${request.method} ${url.pathname}`;
    log.push(call);
    const first = failure && !failed.has(call);
    if (first) failed.add(call);
    if (first && failure === FAILURES.refused)
      return send(response, 500, refusal(10001, "try again"), { "retry-after-ms": "1" });
    if (first && failure === FAILURES.fatal) return send(response, 400, refusal(7003, `${call} fails`));
    let status, body;
    try {
      [status, body] = [200, answer(account, request, url, Buffer.concat(chunks), forbidden)];
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      [status, body] = [error.status, refusal(error.code, error.message)];
    }
    if (first && failure === FAILURES.lost) return response.destroy();
    send(response, status, body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    account,
    /** Returns the calls since the last time, as `METHOD /path`. */
    calls: () => log.splice(0),
    /** Makes each call fail once, in one of the ways of FAILURES. */
    fail(how) {
      failed.clear();
      failure = how;
    },
    credentials: { token: TOKEN, address: `http://127.0.0.1:${server.address().port}/client/v4` },
    close: () => server.close(),
  };
}

class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

const refusal = (code, message) => ({ success: false, errors: [{ code, message }], messages: [], result: null });

function send(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Returns the response to a call that does not fail on request. */
function answer(account, request, url, bytes, forbidden) {
  if (request.headers.authorization !== `Bearer ${TOKEN}`) throw new Refusal(401, 10000, "Authentication error");
  const path = url.pathname.replace("/client/v4/", "");
  const prefix = `accounts/${ACCOUNT}/`;
  for (const [pattern, act] of ROUTES) {
    const [method, shape] = pattern.split(" ");
    const expression = new RegExp(`^${shape.replace(/:\w+/g, "([^/]+)")}$`);
    const match = (path.startsWith(prefix) ? path.slice(prefix.length) : `/${path}`).match(expression);
    if (method !== request.method || !match) continue;
    if (forbidden.some((name) => shape.startsWith(name)))
      throw new Refusal(403, 9109, "Unauthorized to access requested resource");
    const isJson = request.headers["content-type"]?.startsWith("application/json");
    const body = isJson && bytes.length ? JSON.parse(bytes) : {};
    checkBody(method, shape, body);
    const result = act(account, match.slice(1).map(decodeURIComponent), { body, bytes, query: url.searchParams });
    const page = Number(url.searchParams.get("page") ?? "1");
    return {
      success: true,
      errors: [],
      messages: [],
      result: Array.isArray(result) && page > 1 ? [] : result,
      result_info: { page },
    };
  }
  throw new Refusal(404, 7003, `No route for ${request.method} ${path}`);
}

function checkBody(method, shape, body) {
  const known = Object.entries(BODIES).find(([call]) => {
    const [itsMethod, ending] = call.split(" ");
    return method === itsMethod && shape.replace(/\/:\w+$/, "").endsWith(ending);
  });
  if (known && !known[1](body))
    throw new Refusal(400, 10012, `invalid body of ${known[0]}: ${JSON.stringify(body)}`);
}

const newId = () => randomUUID().replaceAll("-", "");
const missing = (code, what) => new Refusal(404, code, `${what} does not exist`);

export function get(map, key, code) {
  if (!map.has(key)) throw missing(code, key);
  return map.get(key);
}

function add(map, value, key, isSame) {
  if ([...map.values()].some(isSame)) throw new Refusal(400, 10014, "it already exists");
  map.set(key, value);
  return value;
}

function remove(map, key, code) {
  get(map, key, code);
  map.delete(key);
  return null;
}

/** The lifecycle rules of a new bucket. */
const DEFAULT_LIFECYCLE = [
  {
    id: "Default Multipart Abort Rule",
    enabled: true,
    conditions: { prefix: "" },
    abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 604_800 } },
  },
];

const GROUPS = [
  "Queues Read",
  "Queues Write",
  "Workers R2 Storage Bucket Item Read",
  "Workers R2 Storage Bucket Item Write",
];

/** The effect of each call on an account. Paths are relative to the account's; others begin with a slash. */
const ROUTES = [
  ["GET storage/kv/namespaces", ({ namespaces }) => [...namespaces.values()]],
  [
    "POST storage/kv/namespaces",
    ({ namespaces }, _, { body }) => {
      const made = { id: newId(), title: body.title };
      return add(namespaces, made, made.id, ({ title }) => title === made.title);
    },
  ],
  ["DELETE storage/kv/namespaces/:id", ({ namespaces }, [id]) => remove(namespaces, id, 10013)],

  ["GET r2/buckets/:name", ({ buckets }, [name]) => ({ name: get(buckets, name, 10006).name })],
  [
    "POST r2/buckets",
    ({ buckets }, _, { body }) => {
      const made = { ...body, lifecycle: structuredClone(DEFAULT_LIFECYCLE), objects: new Set() };
      add(buckets, made, body.name, ({ name }) => name === body.name);
      return { name: body.name };
    },
  ],
  [
    "DELETE r2/buckets/:name",
    ({ buckets }, [name]) => {
      if (get(buckets, name, 10006).objects.size)
        throw new Refusal(409, 10008, "The bucket you tried to delete is not empty.");
      return remove(buckets, name, 10006);
    },
  ],
  ["GET r2/buckets/:name/lifecycle", ({ buckets }, [name]) => ({ rules: get(buckets, name, 10006).lifecycle })],
  [
    "PUT r2/buckets/:name/lifecycle",
    ({ buckets }, [name], { body }) => ((get(buckets, name, 10006).lifecycle = body.rules), {}),
  ],
  [
    "GET r2/buckets/:name/objects",
    ({ buckets }, [name]) => [...get(buckets, name, 10006).objects].map((key) => ({ key })),
  ],
  [
    "DELETE r2/buckets/:name/objects/:key",
    ({ buckets }, [name, key]) => ({ key, deleted: get(buckets, name, 10006).objects.delete(key) }),
  ],

  [
    "GET queues",
    ({ queues }, _, { query }) =>
      [...queues.values()].filter(({ queue_name: name }) => !query.has("name") || query.getAll("name").includes(name)),
  ],
  [
    "POST queues",
    ({ queues }, _, { body }) => {
      const made = { queue_id: newId(), queue_name: body.queue_name, consumers: [] };
      return add(queues, made, made.queue_id, ({ queue_name: name }) => name === made.queue_name);
    },
  ],
  ["DELETE queues/:id", ({ queues }, [id]) => remove(queues, id, 11001)],
  ["GET queues/:id/consumers", ({ queues }, [id]) => get(queues, id, 11001).consumers],
  [
    "POST queues/:id/consumers",
    ({ queues }, [id], { body }) => {
      const { consumers } = get(queues, id, 11001);
      if (consumers.length) throw new Refusal(400, 11004, "Queue already has a consumer");
      const made = { consumer_id: newId(), ...body };
      consumers.push(made);
      return made;
    },
  ],
  [
    "PUT queues/:id/consumers/:consumer",
    ({ queues }, [id, consumer], { body }) => {
      const found = get(queues, id, 11001).consumers.find(({ consumer_id: one }) => one === consumer);
      if (!found) throw missing(11002, consumer);
      return Object.assign(found, body);
    },
  ],

  ["GET tokens", ({ tokens }) => [...tokens.values()].map(({ value, ...shown }) => shown)],
  ["GET tokens/permission_groups", () => GROUPS.map((name) => ({ id: `id of ${name}`, name }))],
  [
    "POST tokens",
    ({ tokens }, _, { body }) => {
      const made = { id: newId(), status: "active", ...body, value: newId() };
      tokens.set(made.id, made);
      return made;
    },
  ],
  ["PUT tokens/:id/value", ({ tokens }, [id]) => (get(tokens, id, 1003).value = newId())],
  ["DELETE tokens/:id", ({ tokens }, [id]) => (remove(tokens, id, 1003), { id })],

  ["GET workers/subdomain", () => ({ subdomain: "tests" })],
  ["GET workers/scripts", ({ scripts }) => [...scripts.keys()].map((id) => ({ id }))],
  [
    "GET workers/scripts/:name/secrets",
    ({ scripts }, [name]) =>
      Object.keys(get(scripts, name, 10007).secrets).map((secret) => ({ name: secret, type: "secret_text" })),
  ],
  [
    "GET workers/scripts/:name/deployments",
    ({ scripts }, [name]) => {
      const { version } = get(scripts, name, 10007);
      return {
        deployments: [{ id: "d", strategy: "percentage", versions: [{ percentage: 100, version_id: version.id }] }],
      };
    },
  ],
  ["GET workers/scripts/:name/versions/:id", ({ scripts }, [name]) => get(scripts, name, 10007).version],
  ["DELETE workers/scripts/:name", ({ scripts }, [name]) => remove(scripts, name, 10007)],
  [
    "GET workers/domains",
    ({ domains }, _, { query }) => [...domains.values()].filter(({ service }) => service === query.get("service")),
  ],
  ["DELETE workers/domains/:id", ({ domains }, [id]) => remove(domains, id, 100114)],

  ["GET containers/applications", ({ applications }) => [...applications.values()]],
  ["DELETE containers/applications/:id", ({ applications }, [id]) => remove(applications, id, 1000)],

  [
    "GET /zones",
    (_, __, { query }) => (query.get("name") === "example.com" ? [{ id: "the-zone", name: "example.com" }] : []),
  ],
];

/** Adds a call that only wrangler makes. */
export function route(pattern, act) {
  ROUTES.push([pattern, act]);
}
