// Records that contents are used, for operators who delete unused ones (RETENTION_DAYS). No request waits for this:
// each isolate collects the ids that it has seen, each once a day, and sends them to the index in batches.

import { repeated } from "../platform/objects.js";

/** A day in milliseconds. */
export const DAY = 86_400_000;
/** Number of objects of the index (`contents.js`); `durable/record.rs` has the same. */
const SHARDS = 16;
/** Time to collect a batch, in milliseconds. */
const PAUSE = 2_000;
/** Maximum number of contents that an isolate remembers. */
const MAX_SEEN = 20_000;

const seen = new Map();
let waiting = new Set();
let sent = 0;

/** The names of the index's objects. */
export const SHARD_NAMES = Array.from({ length: SHARDS }, (_, number) => String(number));

/** Returns the name of the object that indexes a content. */
export const shardOf = (id) => String(id.charCodeAt(id.length - 1) % SHARDS);

/** Returns RETENTION_DAYS, after which unused contents are deleted, in milliseconds; 0 keeps them for ever. */
export const retention = (env) => Math.max(0, Number(env.RETENTION_DAYS) || 0) * DAY;

/** Records a use of a content. */
export function note(id, env, context) {
  const kept = retention(env);
  if (kept === 0 || !context) return;
  const period = Math.floor(Date.now() / Math.min(DAY, kept / 4));
  if (seen.get(id) === period) return;
  if (seen.size >= MAX_SEEN) seen.clear();
  seen.set(id, period);
  waiting.add(id);
  // The request that was to send the batch may have been cancelled.
  if (waiting.size > 1 && Date.now() - sent < 5 * PAUSE) return;
  sent = Date.now();
  context.waitUntil(send(env));
}

async function send(env) {
  await new Promise((resolve) => setTimeout(resolve, PAUSE));
  const ids = [...waiting];
  waiting = new Set();
  const replies = [...Map.groupBy(ids, shardOf)].map(([shard, used]) => repeated(() => env.CONTENTS.getByName(shard).use(used)));
  for (const { reason } of await Promise.allSettled(replies)) if (reason) console.error("cannot record uses of contents:", reason);
}
