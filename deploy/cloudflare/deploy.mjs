// `cargo xtask deploy`: makes of an account what one environment needs, and nothing a second time. Each step finds what
// is there and changes what is not as it should be, so that a run that failed is repeated as a whole. Bindings come
// before the Worker, the Worker before the trial of the service.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";

import { nameOperator } from "./bot-page.mjs";
import { api } from "./resources/api.mjs";
import * as bucket from "./resources/bucket.mjs";
import * as namespace from "./resources/namespace.mjs";
import * as queue from "./resources/queue.mjs";
import * as token from "./resources/token.mjs";
import * as worker from "./resources/worker.mjs";
import { environments, settings } from "./settings.mjs";
import { State, newSecret } from "./state.mjs";
import { FOLDER, configuration, domains, resources } from "./wrangler-config.mjs";
import * as wrangler from "./wrangler.mjs";

/** The provider's API, as wrangler has it by default. */
const API = "https://api.cloudflare.com/client/v4";
/** The Worker's secrets. Tilers know the first one as EDGEZOOM_TILER_TOKEN, the operator the second one as EDGEZOOM_ADMIN_TOKEN. */
const TILERS_SECRET = "TILER_TOKEN";
const OPERATORS_SECRET = "ADMIN_TOKENS";

/** What a task works on: the settings of one environment, the provider's API and the state on this machine. */
export async function open({ root, file, environment, credentials }) {
  const [text, base] = await Promise.all([readFile(file, "utf8"), wranglerToml(root)]);
  const of = (name) => settings(text, name, base.vars ?? {});
  const wanted = of(environment);
  const state = await State.load(join(root, FOLDER), environment);
  return {
    root,
    base,
    wanted,
    all: environments(text).map(of),
    state,
    api: api({ ...wanted, ...credentials }),
    credentials,
  };
}

const wranglerToml = async (root) => parse(await readFile(join(root, "wrangler.toml"), "utf8"));

/**
 * Deploys, and gives the address of the service and the tilers' variables. `renewTokens` gives tilers other tokens;
 * `upload` is wrangler's part.
 */
export async function deploy(task, plan, { renewTokens = false, upload = wrangler.upload } = {}) {
  const { root, base, wanted, state, api } = task;
  const { namespaces, buckets, queues } = resources(base, wanted);
  const ids = {};
  for (const { binding, title } of namespaces) ids[binding] = await namespace.require(api, plan, title);
  for (const { name } of buckets) {
    await bucket.require(api, plan, { name, location: wanted.location, domain: wanted.cacheDomain });
  }
  let queueId;
  for (const { name } of queues) queueId = await queue.require(api, plan, name);
  const address = wanted.domain ? `https://${wanted.domain}` : await worker.defaultAddress(api, wanted.prefix);
  const tilers = {
    known: task.state.variables.EDGEZOOM_TILER_TOKEN,
    keep: (made) => task.state.set({ EDGEZOOM_TILER_TOKEN: made }),
  };
  const operators = {
    known: task.state.operator.EDGEZOOM_ADMIN_TOKEN,
    keep: (made) => task.state.setOperator({ EDGEZOOM_ADMIN_TOKEN: made }),
  };
  const secrets = {
    ...(await secretOf(task, plan, TILERS_SECRET, { ...tilers, renew: renewTokens })),
    ...(await secretOf(task, plan, OPERATORS_SECRET, { ...operators, renew: renewTokens })),
  };
  await uploadWorker(task, plan, { ids, secrets, upload });
  const bucketName = buckets[0].name;
  const tokens = { renew: renewTokens, bucketName };
  await queueToken(task, plan, tokens);
  await bucketToken(task, plan, tokens);
  const { account, jurisdiction } = wanted;
  const region = jurisdiction === "default" ? "" : `.${jurisdiction}`;
  if (!plan.isDry) {
    await state.set({
      EDGEZOOM_EDGE_URL: address,
      EDGEZOOM_QUEUE_URL: `${task.credentials.address ?? API}/accounts/${account}/queues/${queueId}`,
      EDGEZOOM_S3_ENDPOINT: `https://${account}${region}.r2.cloudflarestorage.com`,
      EDGEZOOM_S3_BUCKET: bucketName,
      EDGEZOOM_LAYOUT: wanted.layout,
      ...(wanted.contact && { EDGEZOOM_CONTACT: wanted.contact }),
    });
    await state.setOperator({ EDGEZOOM_EDGE_URL: address });
  }
  return { address, base: wanted.apiDomain ? `https://${wanted.apiDomain}` : address };
}

/** A secret of the Worker, as far as it is known here. A new one is kept before the Worker gets it. */
async function secretOf({ api, wanted }, plan, name, { known, keep, renew }) {
  if (known && !renew) {
    plan.keep(`secret ${name}`);
    return { [name]: known };
  }
  if (!renew && (await worker.hasSecret(api, wanted.prefix, name))) {
    plan.note(`secret ${name}: the Worker has one that is not known here; \`--renew-tokens\` gives it another`);
    return {};
  }
  const made = newSecret();
  await plan.change(renew ? "renew" : "create", `secret ${name}`, () => keep(made));
  return { [name]: made };
}

/** Uploads the Worker, unless just this version is deployed. */
async function uploadWorker({ root, base, all, wanted, api }, plan, { ids, secrets, upload }) {
  const known = await Promise.all(all.map(async (one) => ({ ...one, ids: await idsOf(api, base, one, wanted, ids) })));
  const written = configuration(base, known);
  const path = join(root, FOLDER, "wrangler.json");
  await mkdir(join(root, FOLDER), { recursive: true, mode: 0o700 });
  await writeFile(path, `${JSON.stringify(written, undefined, 2)}\n`);
  await nameOperator(root, wanted);
  const tag = await wrangler.tag(root, written, wanted.environment, secrets);
  const what = `Worker ${wanted.prefix}, version ${tag}`;
  const isNew = plan.isDry && Object.values(ids).includes(undefined);
  const isThere = async () =>
    (await worker.deployedTag(api, wanted.prefix)) === tag &&
    (await worker.answersAt(api, wanted.prefix, domains(wanted)));
  if (!isNew && (await isThere())) return plan.keep(what);
  const { environment, account } = wanted;
  await plan.change("upload", what, () => upload(root, { configuration: path, environment, tag, secrets, account }));
}

/** The ids of an environment's namespaces: those just found, or for another environment what there is. */
async function idsOf(api, base, one, wanted, ids) {
  if (one.environment === wanted.environment) return ids;
  const found = resources(base, one).namespaces.map(async ({ binding, title }) => [
    binding,
    await namespace.find(api, title),
  ]);
  return Object.fromEntries(await Promise.all(found));
}

async function queueToken({ api, wanted, state }, plan, { renew }) {
  const known = Boolean(state.variables.EDGEZOOM_QUEUE_TOKEN);
  await tokenFor({ api, state }, plan, token.ofQueue(wanted.prefix, wanted.account), { known, renew }, ({ value }) => ({
    EDGEZOOM_QUEUE_TOKEN: value,
  }));
}

/**
 * S3's keys follow from a token:
 * https://developers.cloudflare.com/r2/api/tokens/#get-s3-api-credentials-from-an-api-token
 */
async function bucketToken({ api, wanted, state }, plan, { renew, bucketName }) {
  const known = Boolean(state.variables.EDGEZOOM_S3_SECRET_ACCESS_KEY);
  await tokenFor(
    { api, state },
    plan,
    token.ofBucket(wanted.prefix, api, bucketName),
    { known, renew },
    ({ id, value }) => ({
      EDGEZOOM_S3_ACCESS_KEY_ID: id,
      EDGEZOOM_S3_SECRET_ACCESS_KEY: createHash("sha256").update(value).digest("hex"),
    }),
  );
}

async function tokenFor({ api, state }, plan, wanted, { known, renew }, variables) {
  const begin = () => state.begin(wanted.name);
  const made = await token.require(api, plan, wanted, { known, renew, begun: state.begun.has(wanted.name), begin });
  if (!made) return;
  await state.set(variables(made));
  await state.end(wanted.name);
}
