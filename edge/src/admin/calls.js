// The operator's API, `POST /internal/admin/<call>` with JSON, for `tiler admin`. Every call is idempotent: after a
// crash it can be repeated, and the log records the action once. Bulk work is done in batches; the caller asks for the
// next one, so it can be slowed down or stopped.
//
// Callers authenticate with a named token from the secret ADMIN_TOKENS, such as `anna:<token>,ben:<token>`; a token
// without a name belongs to `operator`. The tilers' token is not accepted: it is on machines that read untrusted bytes.

import * as rust from "wasm-bindgen-output";
import { repeated } from "../platform/objects.js";
import { removeUnused, tell } from "./contents.js";
import * as lists from "./lists.js";
import { SHARD_NAMES, shardOf } from "./uses.js";

/** Maximum number of contents per call: a Worker may send a thousand subrequests. */
const MAX_CONTENTS = 100;
/** Maximum number of contents processed concurrently. */
const CONCURRENCY = 6;

/** An error with the status and the text of its response. */
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Handles a call. */
export async function admin(request, env) {
  if (request.method !== "POST") return new Response("Use POST.\n", { status: 405, headers: { Allow: "POST" } });
  const caller = rust.operatorNamed(request.headers.get("Authorization") ?? "", env.ADMIN_TOKENS ?? "");
  if (caller === undefined) {
    console.error("ADMIN_TOKENS is not set, or has a token of fewer than 16 characters: operator calls are refused");
    return new Response("The service has no operator tokens. Set ADMIN_TOKENS.\n", { status: 503 });
  }
  if (!caller) return new Response("The token is wrong.\n", { status: 401, headers: { "WWW-Authenticate": "Bearer" } });
  const { origin, pathname } = new URL(request.url);
  const name = pathname.split("/")[3];
  if (!Object.hasOwn(CALLS, name)) return new Response("Unknown call.\n", { status: 404 });
  try {
    const body = await request.json().catch(() => undefined);
    if (typeof body !== "object" || body === null) throw new Refused(400, "The body must be a JSON object.");
    const by = body.as ? `${caller}/${text(body.as, 100)}` : caller;
    const answer = await CALLS[name]({ ...body, origin }, env, by);
    if (CHANGES_LISTS.includes(name)) await lists.load(env);
    return Response.json(answer, { headers: { "Cache-Control": "no-store" } });
  } catch (error) {
    if (!(error instanceof Refused)) console.error(`${name}:`, error);
    const [status, message] = error instanceof Refused ? [error.status, error.message] : [500, "The call failed. Try again."];
    return new Response(`${message}\n`, { status });
  }
}

const hostCalls = { "block-host": setHost.bind(null, true), "unblock-host": setHost.bind(null, false) };
const CALLS = { show, list, retry, takedown, lift, ...hostCalls, hosts, purge, stats, audit, reindex };

const CHANGES_LISTS = ["takedown", "lift", "block-host", "unblock-host"];

/** Returns a string of the caller's as one line of at most `length` characters. */
function text(value, length) {
  if (typeof value !== "string") throw new Refused(400, "A string is missing in the body.");
  return value.replace(/\s+/g, " ").trim().slice(0, length);
}

function reasonOf({ reason }) {
  const given = text(reason ?? "", 500);
  if (!given) throw new Refused(400, "A reason is required.");
  return given;
}

const operatorOf = (env) => env.OPERATOR.getByName("operator");
/** Returns the object with the index entry of a content. */
const indexOf = (env, id) => env.CONTENTS.getByName(shardOf(id));
/** Returns a content's state, as Rust stores it but without sealed headers, or null. */
const stateOf = async (env, id) => JSON.parse((await repeated(() => env.CONVERSIONS.getByName(id).stored()))?.replace(/(web-sealed=)[\w-]+/, "$1") ?? null);

/** Calls a method of all objects of the index and returns all rows. */
const allRows = async (env, method, query) =>
  (await Promise.all(SHARD_NAMES.map((shard) => repeated(() => env.CONTENTS.getByName(shard)[method](query))))).flat();

/**
 * Finds a content by its id, its share link or the URL of its source. Returns its id, its URL if that was given, and
 * its state.
 */
async function find({ target, origin }, env) {
  const name = text(target, 4000);
  // Without BASE_URL, share links begin with the origin of this request.
  const shared = name.startsWith(`${origin}/`) && rust.namedContent(name.slice(origin.length + 1), env);
  const named = shared || rust.namedContent(name, env);
  if (!named) throw new Refused(400, "Give the id of a content, its share link or the URL of its source.");
  const { url, ids } = JSON.parse(named);
  let deleted;
  for (const id of ids) {
    const state = await stateOf(env, id);
    // On a collision another URL owns the first id.
    if (url && state && identityOf(state.url) !== identityOf(url)) continue;
    const found = { id, url, state };
    // The next upload of a file whose content was deleted has the next id.
    if (!url || state?.state.removed?.removal.kind !== "deleted") return found;
    deleted = found;
  }
  // A takedown of the last one refuses the file, too.
  if (deleted) return deleted;
  throw new Refused(404, "No content has this URL.");
}

async function existing(body, env) {
  const found = await find(body, env);
  if (!found.state) throw new Refused(404, "This content does not exist.");
  return found;
}

/** Returns what identifies a source: a file's name does not. */
const identityOf = (url) => (url.startsWith("ni:") ? url.split(/[?&]name=/)[0] : url);
const isUpload = ({ state }) => Boolean(state?.url.startsWith("ni:") && !state.member);
/** Returns the source that a takedown of a content concerns in collections: that of its URL, or an uploaded file. */
const sourceOf = (found) => identityOf(found.url ?? (isUpload(found) ? found.state.url : ""));

const stateName = ({ state }) => Object.keys(state)[0];

/** Returns a content's state, index entry, objects in R2 and log. */
async function show(body, env) {
  const { id, state } = await existing(body, env);
  const [list, [row], actions] = await Promise.all([
    env.PYRAMIDS.list({ prefix: `${id}/` }),
    indexOf(env, id).find(id),
    operatorOf(env).log({ target: id }),
  ]);
  const objects = list.objects.map(({ key, size, uploaded }) => ({ key, bytes: size, at: +uploaded }));
  return { id, conversion: state, index: row, objects, more: list.truncated, actions };
}

/** Lists finished contents, latest first. */
async function list({ limit = MAX_CONTENTS, host, ...query }, env) {
  const max = Math.min(limit, 1000);
  const rows = await allRows(env, "list", { ...query, host: host && hostOf({ host }), limit: max });
  rows.sort((a, b) => b.at - a.at || (b.id > a.id ? 1 : -1));
  const contents = rows.slice(0, max);
  const last = contents.at(-1);
  return { contents, next: contents.length === max ? [last.at, last.id] : null };
}

/** Restarts a content that failed, waits or was deleted. */
async function retry(body, env, by) {
  const { id, state } = await existing(body, env);
  const name = stateName(state);
  if (name === "ready") throw new Refused(409, "The content is ready. Ready contents are not converted again.");
  if (name === "queued" || name === "claimed") return { id, result: "in progress" };
  const { kind } = state.state.removed?.removal ?? {};
  if (kind === "taken-down") throw new Refused(410, "The content is taken down. Lift the takedown first.");
  if (kind === "deleted") throw new Refused(410, "The content was deleted by its owner.");
  // The number of the next attempt makes the action's id the same when the call is repeated.
  const entry = { action: `retry ${id} ${state.next_attempt} ${state.history?.trimEnd().split("\n").at(-1)}`, by, what: "retry", target: `${id} ${state.url}` };
  await operatorOf(env).act(entry);
  const reply = await tell(env, id, "reset");
  if (reply === "not-found") throw new Refused(409, "The uploaded file is deleted. Upload it again.");
  if (reply !== "content") throw new Refused(503, "Try again.");
  await operatorOf(env).act({ ...entry, result: "queued" });
  return { id, result: "queued" };
}

/**
 * Takes a content down, even one that has not been requested yet. A URL is taken down with all its options. It is taken
 * down in all collections, too, as is an uploaded file.
 */
async function takedown(body, env, by) {
  const reason = reasonOf(body);
  const found = await find(body, env);
  const source = sourceOf(found);
  // First: a collection's content that ends before this is in the index, and one that ends later asks (`durable/record.rs`).
  if (source) await operatorOf(env).setSource({ url: source, by, reason });
  for (const { id, url } of sharedBy(found, env)) await remove("taken-down", id, url, by, reason, env);
  const answer = await remove("taken-down", found.id, found.url, by, reason, env);
  return withVariants(answer, await removeVariants("taken-down", source, found, by, reason, env));
}

/** Lifts a takedown: the content can be converted again. */
async function lift(body, env, by) {
  const found = await existing(body, env);
  const reason = text(body.reason ?? "", 500);
  const source = sourceOf(found);
  if (source) await operatorOf(env).setSource({ url: source });
  for (const { id } of sharedBy(found, env)) await remove("lifted", id, null, by, reason, env);
  const variants = await removeVariants("lifted", source, found, by, reason, env);
  return withVariants(await remove("lifted", found.id, null, by, reason, env), variants);
}

/**
 * Takes down, or lifts, a batch of the contents of a source in collections, and of those with options of a web page: a
 * lift concerns those of the latter that have the reason of the takedown of the URL. Returns what `remove` returned for each.
 */
async function removeVariants(kind, url, { state }, by, why, env) {
  if (!url) return [];
  const isLift = kind === "lifted";
  const reasonFor = (of) => of?.state.removed?.removal.reason;
  const rows = (await allRows(env, "variants", { url, takenDown: isLift, limit: MAX_CONTENTS })).slice(0, MAX_CONTENTS);
  const removed = [];
  await inGroups(rows, async (row) => {
    if (isLift && !row.collection && reasonFor(await stateOf(env, row.id)) !== reasonFor(state)) return;
    removed.push(await remove(kind, row.id, null, by, why, env));
  });
  return removed;
}

/** Adds the other contents of a source to the answer about it. After a whole batch the call is to be repeated. */
function withVariants(answer, variants) {
  if (variants.length === 0) return answer;
  const all = (name) => [answer, ...variants].every((one) => one[name]);
  const recorded = all("recorded") && variants.length < MAX_CONTENTS;
  return { ...answer, recorded, deleted: all("deleted"), variants: variants.map(({ id }) => id) };
}

/**
 * Returns the last id that all clients' uploads of a file share, if its content has an id that only one client's have
 * (`content/src/id.rs`): each upload comes to that one first, and is refused if it is taken down. No upload comes to a
 * collection's content.
 */
function sharedBy(found, env) {
  if (!isUpload(found)) return [];
  const { id, state } = found;
  const { url, ids } = JSON.parse(rust.namedContent(state.url, env));
  return ids.includes(id) ? [] : [{ id: ids.at(-1), url }];
}

/**
 * Takes a content down or lifts that. Returns its state, whether the log and KV have it (`recorded`), and whether its
 * objects are deleted.
 */
async function remove(kind, id, url, who, why, env) {
  const asked = { kind, reason: why, action: crypto.randomUUID(), by: who };
  const reply = await tell(env, id, { removed: { id, url, removal: asked } });
  if (reply === "not-found") throw new Refused(404, "This content does not exist.");
  if (reply === "not-yet") throw new Refused(503, "The previous takedown or lift is not recorded everywhere yet. Try again in a few seconds.");
  const state = await stateOf(env, id);
  const { removal, record_at: recordAt, sweep_again: again } = state.state.removed ?? {};
  const { kind: known, by, reason } = removal ?? { kind: stateName(state), by: "", reason: "" };
  const { objects } = await env.PYRAMIDS.list({ prefix: `${id}/`, limit: 1 });
  return { id, state: known, reason, by, recorded: !recordAt, deleted: !again && objects.length === 0 };
}

/** Returns a host as the lists store it: a lower-case ASCII name, or an IP address. */
function hostOf({ host }) {
  const given = text(host, 300);
  const named = rust.hostNamed(given);
  if (named === undefined) throw new Refused(400, `\`${given}\` is not a host. Give a name such as example.com, which includes www.example.com, or an IP address.`);
  return named;
}

/** Blocks or unblocks a host. */
async function setHost(blocked, body, env, by) {
  const host = hostOf(body);
  const reason = blocked ? reasonOf(body) : text(body.reason ?? "", 500);
  return { host, ...(await operatorOf(env).setHost({ host, blocked, action: crypto.randomUUID(), by, reason })) };
}

async function hosts(_, env) {
  return { hosts: await operatorOf(env).hosts() };
}

/**
 * Deletes a batch of the contents that finished (`by: "at"`) or were last used (`by: "used"`) before a time; `dry` only
 * counts them.
 */
async function purge(body, env, who) {
  const { before, by, states, files = false, limit = MAX_CONTENTS, dry = false } = body;
  if (!Number.isSafeInteger(before) || before > Date.now()) throw new Refused(400, "`before` must be a past time in milliseconds.");
  if (states?.some((state) => !["ready", "failed"].includes(state))) throw new Refused(400, "`states` may only contain ready and failed.");
  const query = { before, by, states, files };
  const counts = await allRows(env, "unused", { ...query, count: true });
  const sum = (name) => counts.reduce((total, count) => total + (count[name] ?? 0), 0);
  const contents = sum("contents");
  const bytes = sum("bytes");
  if (dry || contents === 0) return { removed: 0, left: contents, bytes };
  // A repeated purge has the same action id, so the log has one entry.
  const action = `purge ${before} ${by ?? "used"} ${states ?? "all"} ${files}`;
  const reason = `${by === "at" ? "finished" : "last used"} before ${new Date(before).toISOString()}`;
  const entry = { action, by: who, what: "purge", target: (states ?? ["ready", "failed"]).join(), reason };
  await operatorOf(env).act(entry);
  const batch = Math.min(limit, MAX_CONTENTS);
  const rows = (await allRows(env, "unused", { ...query, limit: batch })).slice(0, batch);
  let removed = 0;
  const remove = async ({ id, at }) => {
    const state = await removeUnused(env, id, action, who);
    if (state === "deleted") removed += 1;
    if (state) await indexOf(env, id).correct({ id, at, state });
  };
  await inGroups(rows, remove);
  const left = Math.max(0, contents - rows.length);
  await operatorOf(env).act({ ...entry, add: removed, result: left === 0 ? "done" : "" });
  return { removed, left, bytes };
}

/** Counts contents by state and failure code, the queue's backlog, containers and blocked hosts. */
async function stats(_, env) {
  const rows = await allRows(env, "count");
  const groups = Object.groupBy(rows, ({ state, code }) => (code ? `${state} ${code}` : state));
  const sum = (of, name) => of.reduce((total, row) => total + (row[name] ?? 0), 0);
  const contents = Object.entries(groups).map(([state, of]) => ({ state, contents: sum(of, "contents"), pixels: sum(of, "pixels"), tiles: sum(of, "tiles"), bytes: sum(of, "bytes") }));
  const ask = async (what) => JSON.parse(await env.BACKLOG.getByName("backlog").send(JSON.stringify(what)));
  const [queue, containers] = await Promise.all(["last-report", "containers"].map(ask));
  return { contents, queue, containers, blockedHosts: (await operatorOf(env).hosts()).length };
}

/** Lists the log, latest first. */
async function audit({ limit = MAX_CONTENTS, ...query }, env) {
  const max = Math.min(limit, 1000);
  const actions = await operatorOf(env).log({ ...query, limit: max });
  return { actions, next: actions.length === max ? actions.at(-1).number : null };
}

/** Adds contents to the index that finished before the index existed, from KV. */
async function reindex({ cursor }, env) {
  const page = await env.FINISHED.list({ cursor: cursor || undefined, limit: MAX_CONTENTS });
  let added = 0;
  const add = async ({ name: id }) => {
    const row = rust.indexRow(id, (await env.FINISHED.get(id)) ?? "");
    if (!row || (await indexOf(env, id).find(id)).length > 0) return;
    await indexOf(env, id).note(row);
    added += 1;
  };
  await inGroups(page.keys, add);
  return { seen: page.keys.length, added, cursor: page.list_complete ? null : page.cursor };
}

/** Processes items a few at a time. */
async function inGroups(items, process) {
  for (let at = 0; at < items.length; at += CONCURRENCY) await Promise.all(items.slice(at, at + CONCURRENCY).map(process));
}
