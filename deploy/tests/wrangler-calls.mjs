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

/** Returns a binding with the namespace that the platform makes for a class. */
const withNamespace = (binding) => (binding.type === "durable_object_namespace" ? { ...binding, namespace_id: `objects of ${binding.class_name}` } : binding);

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
    version: { id: randomUUID(), annotations, resources: { bindings: bindings.map(withNamespace) } },
  });
}

/** Returns the workers.dev settings of a Worker. */
const subdomain = ({ scripts }, [name]) => ({ enabled: get(scripts, name).workersDev, previews_enabled: false });
/** Limits of an account. */
const LIMITS = { vcpu_per_deployment: 4, memory_mib_per_deployment: 12_288, disk_mb_per_deployment: 20_000, total_vcpu: 1500, total_memory_mib: 6_000_000, node_group: "metal" };
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
  "PUT workers/scripts/:name": (account, [name], { bytes }) => {
    put(account, name, metadata(bytes));
    return { id: name, deployment_id: account.scripts.get(name).version.id };
  },
  "GET containers/me": () => ({ external_account_id: "the-account", limits: LIMITS, defaults: {}, locations: [], identity: {} }),
  "POST containers/applications": ({ applications }, _, { body }) => {
    const made = { ...body, id: randomUUID(), version: 1, health: { instances: {} } };
    applications.set(made.id, made);
    return made;
  },
  "PATCH containers/applications/:id": ({ applications }, [id], { body }) => Object.assign(get(applications, id, 1000), body),
  "POST containers/applications/:id/rollouts": ({ applications }, [id], { body }) => {
    Object.assign(get(applications, id, 1000).configuration, body.target_configuration);
    return { id: randomUUID() };
  },
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
