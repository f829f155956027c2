// The API calls of `wrangler deploy`, found by observing it, so that the real wrangler can deploy to the fake.

import { randomUUID } from "node:crypto";

import { get, route } from "./provider.mjs";

/** Returns the metadata of an upload, the first part of its form. */
function metadata(bytes) {
  const text = bytes.toString("latin1");
  const at = text.indexOf('name="metadata"');
  const begin = text.indexOf("\r\n\r\n", at) + 4;
  return JSON.parse(Buffer.from(text.slice(begin, text.indexOf("\r\n--", begin)), "latin1").toString("utf8"));
}

/** Adds a version of a Worker to an account. */
export function put({ scripts }, name, { annotations, bindings = [], migrations }) {
  const secrets = Object.fromEntries(
    bindings.filter(({ type }) => type === "secret_text").map(({ name, text }) => [name, text]),
  );
  const before = scripts.get(name);
  scripts.set(name, {
    name,
    workersDev: before?.workersDev ?? false,
    bindings,
    migrations,
    secrets: { ...before?.secrets, ...secrets },
    version: { id: randomUUID(), annotations },
  });
}

/** Returns the workers.dev settings of a Worker. */
const subdomain = ({ scripts }, [name]) => ({ enabled: get(scripts, name).workersDev, previews_enabled: false });
const same = (_, __, { body }) => body;

const CALLS = {
  "GET workers/services/:name": ({ scripts }, [name]) => {
    get(scripts, name, 10090);
    return {
      id: name,
      default_environment: { environment: "production", script: { id: name, last_deployed_from: "wrangler" } },
    };
  },
  "POST workers/scripts/:name/assets-upload-session": () => ({ jwt: "nothing to upload", buckets: [] }),
  "GET workers/scripts/:name/settings": ({ scripts }, [name]) => ({
    bindings: get(scripts, name, 10007).bindings,
    tags: [],
  }),
  "PUT workers/scripts/:name": (account, [name], { bytes }) => (put(account, name, metadata(bytes)), { id: name }),
  "PATCH workers/scripts/:name/script-settings": same,
  "GET workers/workers/:name": (account, path) => ({ id: path[0], name: path[0], subdomain: subdomain(account, path) }),
  "GET workers/scripts/:name/subdomain": subdomain,
  "POST workers/scripts/:name/subdomain": ({ scripts }, [name], { body }) => (
    (get(scripts, name).workersDev = body.enabled),
    body
  ),
  "POST workers/scripts/:name/domains/changeset": () => ({ added: [], updated: [], removed: [], conflicting: [] }),
  "PUT workers/scripts/:name/domains/records": ({ domains }, [service], { body }) => {
    for (const { hostname } of body.origins) domains.set(hostname, { id: hostname, hostname, service });
    return [...domains.values()];
  },
};
for (const [call, act] of Object.entries(CALLS)) route(call, act);
