// The operator's interface, `POST /internal/admin/<call>` with JSON, for `tiler admin`. Every call may be repeated at any time, after
// a crash too: what is done already is not done again, and the log has it once. Bulk work comes in pieces, of which
// the caller asks for the next one: so it can be slowed down, and broken off.

import * as rust from "wasm-bindgen-output";
import { authorized } from "./authorization.js";
import { SHARD_NAMES, removeUnused, shardOf } from "./contents.js";
import * as lists from "./lists.js";

/** How many contents a call may handle. A call of a Worker may make a thousand requests. */
const MOST = 100;
/** How many of them at once. */
const AT_ONCE = 6;

/** An answer that is no success. */
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Answers a call. */
export async function admin(request, env) {
  if (request.method !== "POST") return new Response("POST only\n", { status: 405, headers: { Allow: "POST" } });
  const token = await authorized(request, env);
  if (token instanceof Response) return token;
  const name = new URL(request.url).pathname.split("/")[3];
  if (!Object.hasOwn(CALLS, name)) return new Response("There is no such call.\n", { status: 404 });
  try {
    const body = await request.json().catch(() => undefined);
    if (typeof body !== "object" || body === null) throw new Refused(400, "The body is no JSON object.");
    const by = body.as ? `${token}/${text(body.as, 100)}` : token;
    const answer = await CALLS[name]({ ...body, origin: new URL(request.url).origin }, env, by);
    if (CHANGES_LISTS.includes(name)) await lists.load(env);
    return Response.json(answer, { headers: { "Cache-Control": "no-store" } });
  } catch (error) {
    if (!(error instanceof Refused)) console.error(`${name}:`, error);
    const [status, message] = error instanceof Refused ? [error.status, error.message] : [500, "The call failed. It may be repeated."];
    return new Response(`${message}\n`, { status });
  }
}

const CALLS = { show, list, retry, takedown, lift, "block-host": blockHost, "unblock-host": unblockHost, hosts, purge, stats, audit, reindex };

const CHANGES_LISTS = ["takedown", "lift", "block-host", "unblock-host"];

/** A text of the caller, on one line. */
function text(value, longest) {
  if (typeof value !== "string") throw new Refused(400, "A text is missing.");
  return value.replace(/\s+/g, " ").trim().slice(0, longest);
}

function reasonOf({ reason }) {
  const given = text(reason ?? "", 500);
  if (!given) throw new Refused(400, "Say why: a reason is needed.");
  return given;
}

/** Sends a message to an object, and gives its reply: the status and the text. */
async function send(objects, name, path, body) {
  const reply = await objects.getByName(name).fetch(`http://object${path}`, { method: "POST", body: JSON.stringify(body) });
  return { status: reply.status, body: await reply.text() };
}

const operator = async (env, path, body) => JSON.parse((await send(env.OPERATOR, "operator", path, body)).body);

/** The replies of all parts of the index. */
const everywhere = (env, path, body) =>
  Promise.all(SHARD_NAMES.map(async (shard) => JSON.parse((await send(env.CONTENTS, shard, path, body)).body)));

/** The content that is named by an id, a share link or the URL of its source: its id, its URL if that was given, and its state. */
async function find({ target, origin }, env) {
  const name = text(target, 4000);
  // Without BASE_URL the share link begins with the address that is called.
  const shared = name.startsWith(`${origin}/`) && rust.namedContent(name.slice(origin.length + 1), env);
  const [url, ...ids] = (shared || rust.namedContent(name, env))?.split("\n") ?? [];
  if (ids.length === 0) throw new Refused(400, "Name a content by its id, its share link, or the URL of its source.");
  for (const id of ids) {
    const reply = await send(env.CONVERSIONS, id, "/state", {});
    const state = reply.status === 200 ? JSON.parse(reply.body) : undefined;
    // Another URL may have the first of the ids that a URL can have. The name of a file tells no contents apart.
    if (!url || !state || state.url.split("?name=")[0] === url.split("?name=")[0] || state.url === url) return { id, url: url || null, state };
  }
  throw new Refused(404, "There is no content with this URL.");
}

async function existing(body, env) {
  const found = await find(body, env);
  if (!found.state) throw new Refused(404, "There is no such content.");
  return found;
}

const stateName = ({ state }) => Object.keys(state)[0];

/** All that is known of a content. */
async function show(body, env) {
  const { id, state } = await existing(body, env);
  const [list, [row], actions] = await Promise.all([
    env.PYRAMIDS.list({ prefix: `${id}/` }),
    send(env.CONTENTS, shardOf(id), "/find", { id }).then(({ body: rows }) => JSON.parse(rows)),
    operator(env, "/log", { target: id }),
  ]);
  const objects = list.objects.map(({ key, size, uploaded }) => ({ key, bytes: size, at: +uploaded }));
  return { id, conversion: state, index: row, objects, more: list.truncated, actions };
}

/** Contents that have ended, the latest first. */
async function list({ state, since, code, host, before, limit = MOST }, env) {
  const most = Math.min(limit, 1000);
  const query = { state, since, code, host: host && hostOf({ host }), before, limit: most };
  const rows = (await everywhere(env, "/list", query)).flat();
  rows.sort((a, b) => b.at - a.at || (b.id > a.id ? 1 : -1));
  const contents = rows.slice(0, most);
  const last = contents.at(-1);
  return { contents, next: contents.length === most ? [last.at, last.id] : null };
}

/** Starts a content anew that failed, waits or was deleted. */
async function retry(body, env, by) {
  const { id, state } = await existing(body, env);
  const name = stateName(state);
  if (name === "ready") throw new Refused(409, "It is ready. What is ready is not converted again.");
  if (name === "queued" || name === "claimed") return { id, result: "it is under way" };
  if (state.state.removed?.removal.startsWith("taken-down")) throw new Refused(410, "It is taken down. Lift that first.");
  // The next attempt has the same number until this is done.
  const entry = { action: `retry ${id} ${state.next_attempt} ${state.history?.trimEnd().split("\n").at(-1)}`, by, what: "retry", target: `${id} ${state.url}` };
  await operator(env, "/act", entry);
  const { status } = await send(env.CONVERSIONS, id, "/reset", {});
  if (status !== 200) throw new Refused(status === 404 ? 409 : 503, status === 404 ? "Its file is not kept: it has to be sent again." : "Try again.");
  await operator(env, "/act", { ...entry, result: "queued" });
  return { id, result: "queued" };
}

/** Takes a content down, also one that no client has asked for yet. */
async function takedown(body, env, by) {
  const reason = reasonOf(body);
  const { id, url } = await find(body, env);
  return remove("taken-down", id, url, by, reason, env);
}

/** Lets a content be converted again that is taken down. */
async function lift(body, env, by) {
  const { id } = await existing(body, env);
  const reason = text(body.reason ?? "", 500);
  return remove("lifted", id, "", by, reason, env);
}

/** Removes a content. Gives what became of that: whether the log and KV have it, and whether its objects are deleted. */
async function remove(kind, id, url, who, why, env) {
  const body = [kind, crypto.randomUUID(), who, url ?? "", why].join("\n");
  const { status } = await env.CONVERSIONS.getByName(id).fetch("http://object/removed", { method: "POST", body });
  if (status === 404) throw new Refused(404, "There is no such content.");
  if (status === 503) throw new Refused(503, "The last takedown or lift is not recorded everywhere yet. Try again in some seconds.");
  const state = JSON.parse((await send(env.CONVERSIONS, id, "/state", {})).body);
  const { removal, record_at: recordAt, sweep_again: again } = state.state.removed ?? {};
  const [known, , by, reason] = removal?.split("\n") ?? [stateName(state), "", "", ""];
  const { objects } = await env.PYRAMIDS.list({ prefix: `${id}/`, limit: 1 });
  return { id, state: known, reason, by, recorded: !recordAt, deleted: !again && objects.length === 0 };
}

/** A host as lists have it: a name in lower case and ASCII, or an address. */
function hostOf({ host }) {
  const given = text(host, 300).replace(/^\*?\./, "").replace(/\.$/, "");
  try {
    const { hostname, host: whole } = new URL(`http://${given}/`);
    if (whole === hostname && /^[^,\s*/?#@\\]+$/.test(given)) return hostname;
  } catch {
    // below
  }
  throw new Refused(400, `\`${given}\` is no host: write a name such as example.com, which includes www.example.com, or an address.`);
}

async function blockHost(body, env, by) {
  const host = hostOf(body);
  return { host, ...(await operator(env, "/host", { host, blocked: true, action: crypto.randomUUID(), by, reason: reasonOf(body) })) };
}

async function unblockHost(body, env, by) {
  const host = hostOf(body);
  return { host, ...(await operator(env, "/host", { host, blocked: false, action: crypto.randomUUID(), by, reason: text(body.reason ?? "", 500) })) };
}

async function hosts(_, env) {
  return { hosts: await operator(env, "/hosts", {}) };
}

/** Deletes some of the contents that ended (`by: "at"`) or were used last (`by: "used"`) before a time; `dry` only counts them. */
async function purge(body, env, who) {
  const { before, by, states, files = false, limit = MOST, dry = false } = body;
  if (!Number.isSafeInteger(before) || before > Date.now()) throw new Refused(400, "Say before which time.");
  if (states?.some((state) => !["ready", "failed"].includes(state))) throw new Refused(400, "Only what is ready or failed is deleted.");
  const query = { before, by, states, files };
  const counts = (await everywhere(env, "/unused", { ...query, count: true })).flat();
  const sum = (name) => counts.reduce((total, count) => total + (count[name] ?? 0), 0);
  const [contents, bytes] = [sum("contents"), sum("bytes")];
  if (dry || contents === 0) return { removed: 0, left: contents, bytes };
  // The same purge, repeated after it was broken off, is the same action.
  const action = `purge ${before} ${by ?? "used"} ${states ?? "all"} ${files}`;
  const reason = `${by === "at" ? "made" : "used last"} before ${new Date(before).toISOString()}`;
  const entry = { action, by: who, what: "purge", target: (states ?? ["ready", "failed"]).join(), reason };
  await operator(env, "/act", entry);
  const rows = (await everywhere(env, "/unused", { ...query, limit: Math.min(limit, MOST) })).flat().slice(0, Math.min(limit, MOST));
  let removed = 0;
  const remove = async ({ id, at }) => {
    const state = await removeUnused(env, id, action, who);
    if (state === "deleted") removed += 1;
    if (state) await send(env.CONTENTS, shardOf(id), "/state", { id, at, state });
  };
  for (let at = 0; at < rows.length; at += AT_ONCE) await Promise.all(rows.slice(at, at + AT_ONCE).map(remove));
  const left = Math.max(0, contents - rows.length);
  await operator(env, "/act", { ...entry, add: removed, result: left === 0 ? "done" : "" });
  return { removed, left, bytes };
}

/** How many contents there are of each kind, and how much waits. */
async function stats(_, env) {
  const rows = (await everywhere(env, "/count", {})).flat();
  const groups = Object.groupBy(rows, ({ state, code }) => (code ? `${state} ${code}` : state));
  const sum = (of, name) => of.reduce((total, row) => total + (row[name] ?? 0), 0);
  const contents = Object.entries(groups).map(([state, of]) => ({ state, contents: sum(of, "contents"), pixels: sum(of, "pixels"), tiles: sum(of, "tiles"), bytes: sum(of, "bytes") }));
  const backlog = await env.BACKLOG.getByName("backlog").fetch("http://backlog/", { method: "POST", body: "" });
  return { contents, queue: JSON.parse(await backlog.text()), blockedHosts: (await operator(env, "/hosts", {})).length };
}

/** The log, the latest first. */
async function audit({ since, before, target, limit = MOST }, env) {
  const actions = await operator(env, "/log", { since, before, target, limit: Math.min(limit, 1000) });
  return { actions, next: actions.length === Math.min(limit, 1000) ? actions.at(-1).number : null };
}

function tilesOf({ width, height, tileSize }) {
  let tiles = 0;
  for (let [across, down] = [width, height]; ; [across, down] = [Math.ceil(across / 2), Math.ceil(down / 2)]) {
    tiles += Math.ceil(across / tileSize) * Math.ceil(down / tileSize);
    if (across === 1 && down === 1) return tiles;
  }
}

/** Adds contents to the index that ended before there was one, from KV. */
async function reindex({ cursor }, env) {
  const page = await env.FINISHED.list({ cursor: cursor || undefined, limit: MOST });
  let added = 0;
  const add = async ({ name: id }) => {
    const [first, inner] = ((await env.FINISHED.get(id)) ?? "").split("\n");
    if (!inner?.startsWith("{") || JSON.parse((await send(env.CONTENTS, shardOf(id), "/find", { id })).body).length > 0) return;
    const { url, status } = JSON.parse(inner);
    const { dzi, archive } = status.ready ?? {};
    const note = { id, url, state: dzi ? "ready" : "failed", code: status.failed?.failure.code ?? "", at: Date.now(), pixels: dzi ? dzi.width * dzi.height : 0 };
    await send(env.CONTENTS, shardOf(id), "/note", { ...note, tiles: dzi ? tilesOf(dzi) : 0, bytes: archive ? archive.indexOffset + archive.indexLength : 0 });
    added += first ? 1 : 0;
  };
  for (let at = 0; at < page.keys.length; at += AT_ONCE) await Promise.all(page.keys.slice(at, at + AT_ONCE).map(add));
  return { seen: page.keys.length, added, cursor: page.list_complete ? null : page.cursor };
}
