// `cargo xtask deploy` and `cargo xtask undeploy` for one environment. Each step compares what exists with what is
// wanted and changes only what differs, so a failed run can be repeated. The Worker's bindings come before the Worker.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";

import { api, applications, namespaces, queues, workers } from "./account.mjs";
import { buckets } from "./bucket.mjs";
import { pinned } from "./image.mjs";
import { environments, settings } from "./settings.mjs";
import { State, newSecret } from "./state.mjs";
import { ofBucket, ofQueue, tokens } from "./token.mjs";
import { FOLDER, configuration, domains, resources, tag, tilersOf, upload as uploadByWrangler } from "./wrangler.mjs";

/** wrangler's default API URL. */
const API = "https://api.cloudflare.com/client/v4";

/** Reads the settings and state of one environment. */
export async function open({ root, file, environment, credentials }) {
  const [text, toml] = await Promise.all([readFile(file, "utf8"), readFile(join(root, "wrangler.toml"), "utf8")]);
  const base = parse(toml);
  const of = (name) => settings(text, name, base.vars ?? {});
  const wanted = of(environment);
  return {
    root,
    base,
    wanted,
    all: environments(text).map(of),
    state: await State.load(join(root, FOLDER), environment),
    api: api({ ...wanted, ...credentials }),
    credentials,
  };
}

/**
 * Deploys and returns the service's addresses. `renewTokens` gives all tokens new values; `upload` uploads the Worker, and
 * `pin` returns an image with its digest.
 */
export async function deploy(task, plan, { renewTokens: renew = false, upload = uploadByWrangler, pin = pinned } = {}) {
  const { base, wanted, state } = task;
  // Before anything changes: an image that cannot be had, or must not be used, ends the task.
  const image = wanted.containers && (await pin(wanted.containers.image, plan));
  const names = resources(base, wanted);
  const context = { ...task.api, plan };
  const ids = {};
  for (const { binding, name } of names.namespaces) ids[binding] = await namespaces(context).require(name);
  const [bucket] = names.buckets;
  await buckets(context).require({ name: bucket.name, location: wanted.location });
  const queueId = wanted.containers ? undefined : await queues(context).require(names.queues[0].name);
  const address = wanted.domain ? `https://${wanted.domain}` : await workers(context).defaultAddress(wanted.prefix);
  const secrets = {
    ...(await secret(task, plan, "TILER_TOKEN", { known: state.variables.EDGEZOOM_TILER_TOKEN, renew }, (value) =>
      state.set({ EDGEZOOM_TILER_TOKEN: value }),
    )),
    ...(await secret(task, plan, "ADMIN_TOKENS", { known: state.operator.EDGEZOOM_ADMIN_TOKEN, renew }, (value) =>
      state.setOperator({ EDGEZOOM_ADMIN_TOKEN: value }),
    )),
  };
  await uploadWorker(task, context, { ids, secrets, upload, image });
  if (wanted.containers) await withoutMachines(task, context);
  else await forMachines(task, context, { renew, bucket, queueId });
  if (!plan.isDry) {
    await state.set({ EDGEZOOM_EDGE_URL: address });
    await state.setOperator({ EDGEZOOM_EDGE_URL: address });
  }
  return { address, base: wanted.apiDomain ? `https://${wanted.apiDomain}` : address };
}

/** Creates the tokens of tilers on machines, and stores their variables. Containers that ran them are removed. */
async function forMachines(task, context, { renew, bucket, queueId }) {
  const { wanted, api, state, credentials } = task;
  await applications(context).remove(tilersOf(wanted));
  await token(task, context, ofQueue(wanted.prefix, api), { renew, variable: "EDGEZOOM_QUEUE_TOKEN" }, ({ value }) => ({
    EDGEZOOM_QUEUE_TOKEN: value,
  }));
  // https://developers.cloudflare.com/r2/api/tokens/#get-s3-api-credentials-from-an-api-token
  const s3 = { renew, variable: "EDGEZOOM_S3_SECRET_ACCESS_KEY" };
  await token(task, context, ofBucket(wanted.prefix, api, bucket.name), s3, ({ id, value }) => ({
    EDGEZOOM_S3_ACCESS_KEY_ID: id,
    EDGEZOOM_S3_SECRET_ACCESS_KEY: createHash("sha256").update(value).digest("hex"),
  }));
  if (context.plan.isDry) return;
  const { account, jurisdiction, contact } = wanted;
  const region = jurisdiction === "default" ? "" : `.${jurisdiction}`;
  await state.set({
    EDGEZOOM_QUEUE_URL: `${credentials.address ?? API}/accounts/${account}/queues/${queueId}`,
    EDGEZOOM_S3_ENDPOINT: `https://${account}${region}.r2.cloudflarestorage.com`,
    EDGEZOOM_S3_BUCKET: bucket.name,
    ...(contact && { EDGEZOOM_CONTACT: contact }),
  });
}

/**
 * Removes what only tilers on machines need: the queue, and the tokens, which could do more than containers may. Jobs in
 * the queue are sent again by their objects.
 */
async function withoutMachines({ base, wanted, api, state }, context) {
  await tokens(context).remove(ofQueue(wanted.prefix, api).name);
  await tokens(context).remove(ofBucket(wanted.prefix, api, "").name);
  for (const { name } of resources(base, { ...wanted, containers: undefined }).queues) await queues(context).remove(name);
  if (!context.plan.isDry) await state.keep(["EDGEZOOM_EDGE_URL", "EDGEZOOM_TILER_TOKEN"]);
}

/**
 * Returns one of the Worker's secrets if its value is known here. `store` stores a new value before the Worker gets it.
 */
async function secret({ api, wanted }, plan, name, { known, renew }, store) {
  if (known && !renew) {
    plan.keep(`secret ${name}`);
    return { [name]: known };
  }
  if (!renew && (await workers({ ...api, plan }).hasSecret(wanted.prefix, name))) {
    plan.note(`secret ${name}: the Worker's value is not known here; \`--renew-tokens\` gives it a new one`);
    return {};
  }
  const value = newSecret();
  await plan.change(renew ? "renew" : "create", `secret ${name}`, () => store(value));
  return { [name]: value };
}

/** Uploads the Worker, unless this version is deployed. */
async function uploadWorker({ root, base, all, wanted }, context, { ids, secrets, upload, image }) {
  const { plan } = context;
  const { environment, account, prefix } = wanted;
  // wrangler.json has every environment. The ids of other environments' namespaces are those that exist.
  const idsOf = async (one) => {
    const { find } = namespaces(context);
    const found = resources(base, one).namespaces.map(async ({ binding, name }) => [binding, await find(name)]);
    return Object.fromEntries(await Promise.all(found));
  };
  const containers = wanted.containers && { ...wanted.containers, image };
  const known = await Promise.all(
    all.map(async (one) => (one.environment === environment ? { ...wanted, ids, containers } : { ...one, ids: await idsOf(one) })),
  );
  const written = configuration(base, known);
  const path = join(root, FOLDER, "wrangler.json");
  await mkdir(join(root, FOLDER), { recursive: true, mode: 0o700 });
  await writeFile(path, `${JSON.stringify(written, undefined, 2)}\n`);
  await nameOperator(root, wanted);
  const version = await tag(root, written, environment, secrets);
  const what = `Worker ${prefix}, version ${version}`;
  const { deployedTag, answersAt } = workers(context);
  const isNew = plan.isDry && Object.values(ids).includes(undefined);
  if (!isNew && (await deployedTag(prefix)) === version && (await answersAt(prefix, domains(wanted)))) return plan.keep(what);
  await plan.change("upload", what, () => upload(root, { configuration: path, environment, tag: version, secrets, account }));
}

/** Creates, renews or keeps one of the tilers' tokens, and stores the variables that follow from it. */
async function token({ state }, context, wanted, { renew, variable }, variables) {
  const made = await tokens(context).require(wanted, {
    known: Boolean(state.variables[variable]),
    renew,
    begun: state.begun.has(wanted.name),
    begin: () => state.begin(wanted.name),
  });
  if (!made) return;
  await state.set(variables(made));
  await state.end(wanted.name);
}

const BOT_PAGE = new URL("../../edge/interface/bot.html", import.meta.url);
const CONTACT = /<p id="contact">[^]*?<\/p>/;

/** Writes the operator's contact into the static page about the bot, `/bot`. Tests may have no page. */
async function nameOperator(root, { contact }) {
  const path = join(root, "edge/build/assets/bot.html");
  const page = await readFile(path, "utf8").catch(() => undefined);
  if (!page) return;
  const [without] = CONTACT.exec(await readFile(BOT_PAGE, "utf8"));
  const text = contact?.replaceAll("&", "&amp;");
  const link = contact?.includes("://") ? text : `mailto:${text}`;
  const named = page.replace(CONTACT, () => (contact ? `<p id="contact"><a href="${link}">${text}</a></p>` : without));
  if (named !== page) await writeFile(path, named);
}

/**
 * Removes everything that `deploy` created, the bucket only with `pyramids`. The Worker goes first, so that nothing new
 * starts.
 */
export async function undeploy({ base, wanted, api, state }, plan, { pyramids = false } = {}) {
  const names = resources(base, wanted);
  const context = { ...api, plan };
  await applications(context).remove(tilersOf(wanted));
  await workers(context).remove(wanted.prefix);
  await tokens(context).remove(ofQueue(wanted.prefix, api).name);
  await tokens(context).remove(ofBucket(wanted.prefix, api, "").name);
  for (const { name } of resources(base, { ...wanted, containers: undefined }).queues) await queues(context).remove(name);
  for (const { name } of names.namespaces) await namespaces(context).remove(name);
  for (const { name } of names.buckets) {
    const { find, remove } = buckets(context);
    if (pyramids) await remove(name);
    else if (await find(name)) plan.keep(`R2 bucket ${name}; \`--pyramids\` deletes it too`);
  }
  if (!plan.isDry) await state.forget();
}
