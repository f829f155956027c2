// Notes that contents are used, for the operator who has unused ones deleted (RETENTION_DAYS). No request waits for that:
// each isolate keeps what it has seen, once a day for each content, and sends the index many at once.

import { shardOf } from "./contents.js";

const DAY = 86_400_000;
/** How long is collected. */
const PAUSE = 2_000;
/** How many contents an isolate remembers. */
const MOST = 20_000;

const seen = new Map();
let waiting = new Set();
let sent = 0;

/** How long contents may be unused, in milliseconds; 0: for ever. */
export const retention = (env) => Math.max(0, Number(env.RETENTION_DAYS) || 0) * DAY;

/** Notes that a content is used now. */
export function note(id, env, context) {
  const longest = retention(env);
  if (longest === 0 || !context) return;
  const period = Math.floor(Date.now() / Math.min(DAY, longest / 4));
  if (seen.get(id) === period) return;
  if (seen.size >= MOST) seen.clear();
  seen.set(id, period);
  waiting.add(id);
  // The request that should have sent them may have been cancelled.
  if (waiting.size > 1 && Date.now() - sent < 5 * PAUSE) return;
  sent = Date.now();
  context.waitUntil(send(env));
}

async function send(env) {
  await new Promise((resolve) => setTimeout(resolve, PAUSE));
  const ids = [...waiting];
  waiting = new Set();
  const shards = Map.groupBy(ids, shardOf);
  const replies = [...shards].map(([shard, used]) =>
    env.CONTENTS.getByName(shard).fetch("http://contents/used", { method: "POST", body: JSON.stringify(used) }),
  );
  for (const { reason } of await Promise.allSettled(replies)) if (reason) console.error("uses are not noted:", reason);
}
