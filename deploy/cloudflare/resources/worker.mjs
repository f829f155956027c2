// The Worker as the provider has it. Wrangler uploads it; this says what is there.

import { first, orNothing } from "./api.mjs";

/**
 * @typedef {import("./api.mjs").Api} Api
 * @typedef {import("../plan.mjs").Plan} Plan
 */

/** The annotation that `wrangler deploy --tag` writes. */
const TAG = "workers/tag";

/**
 * The tag of the version that gets all requests.
 * @param {Api} api
 * @param {string} name
 * @returns {Promise<string | undefined>}
 */
export async function deployedTag({ client, account }, name) {
  const { deployments, versions } = client.workers.scripts;
  const page = await orNothing(deployments.list(name, { account_id: account }));
  // The client takes this list for one of another form.
  const listed =
    /** @type {import("cloudflare/resources/workers/scripts/deployments").DeploymentListResponse | undefined} */ (
      /** @type {unknown} */ (page?.result)
    );
  const [version, other] = listed?.deployments?.[0]?.versions ?? [];
  if (!version || other) return undefined; // none, or the operator moves gradually from one to the other
  const found = await orNothing(versions.get(version.version_id, { account_id: account, script_name: name }));
  const { annotations } = /** @type {{ annotations?: Record<string, string> }} */ (found ?? {});
  return annotations?.[TAG];
}

/**
 * Whether the Worker answers at these domains and no others; without any, at workers.dev. Wrangler sees to that last.
 * @param {Api} api
 * @param {string} name
 * @param {string[]} domains
 */
export async function answersAt({ client, account }, name, domains) {
  const subdomain = await orNothing(client.workers.scripts.subdomain.get(name, { account_id: account }));
  const found = [];
  for await (const { hostname } of client.workers.domains.list({ account_id: account, service: name }))
    found.push(hostname);
  return subdomain?.enabled === !domains.length && String(found.sort()) === String([...domains].sort());
}

/**
 * Whether the Worker has a secret. Its value cannot be read.
 * @param {Api} api
 * @param {string} name
 * @param {string} secret
 */
export async function hasSecret({ client, account }, name, secret) {
  const all = client.workers.scripts.secrets.list(name, { account_id: account });
  return (await orNothing(first(all, (one) => one.name === secret))) !== undefined;
}

/**
 * Where a Worker without a domain answers.
 * @param {Api} api
 * @param {string} name
 */
export async function defaultAddress({ client, account }, name) {
  const found = await orNothing(client.workers.subdomains.get({ account_id: account }));
  if (!found)
    throw new Error(
      "the account has no workers.dev subdomain: choose one in the dashboard, or give the Worker a domain",
    );
  return `https://${name}.${found.subdomain}.workers.dev`;
}

/**
 * Deletes the Worker, its domains and its Durable Objects: all that is known of contents that are not finished.
 * @param {Api} api
 * @param {Plan} plan
 * @param {string} name
 */
export async function remove({ client, account }, plan, name) {
  for await (const { id, hostname } of client.workers.domains.list({ account_id: account, service: name })) {
    if (id)
      await plan.change("delete", `domain ${hostname}`, () =>
        orNothing(client.workers.domains.delete(id, { account_id: account })),
      );
  }
  if (!(await first(client.workers.scripts.list({ account_id: account }), ({ id }) => id === name))) return;
  const options = { account_id: account, force: true };
  await plan.change("delete", `Worker ${name} and its Durable Objects`, () =>
    orNothing(client.workers.scripts.delete(name, options)),
  );
}
