// Sends a large file in parts. One that does not arrive is sent again, and this browser remembers those that have: the same file, chosen
// again within a day, goes on from there.

import { exchange, Unanswered } from "./exchange.js";

const KEY = "edgezoom-sending";
/** How long what has arrived is kept, with an hour to spare, in milliseconds. */
const KEPT = 23 * 3_600_000;
/** The pauses before a part is sent again, in milliseconds. */
const PAUSES = [500, 1000, 2000, 4000, 8000, 16_000];
const JSON_TYPE = "application/json";

/** Sends a file to `uploads`, and gives the last answer: `{ status, text }`. `onSent` is told the bytes. */
export async function sendInParts(uploads, file, { onSent, signal }) {
  const begun = kept(file);
  const rest = begun && (await sendRest(begun, file, onSent, signal));
  forget();
  if (rest && rest.status !== 404) return rest;
  // There is none, or it was removed meanwhile.
  const sending = await begin(uploads, signal);
  if (!sending.address) return sending;
  const answer = await sendRest(sending, file, onSent, signal);
  forget();
  return answer;
}

/** Where a new file is sent; or the answer, if there is none. */
async function begin(uploads, signal) {
  const answer = await patiently(() => exchange("POST", uploads, null, { signal }));
  if (answer.status !== 201) return answer;
  const { address, partBytes } = JSON.parse(answer.text);
  return { address, partBytes, tags: [] };
}

async function sendRest(sending, file, onSent, signal) {
  const { address, partBytes, tags } = sending;
  for (let start = tags.length * partBytes; start < file.size; start += partBytes) {
    const part = file.slice(start, start + partBytes);
    const watched = { onSent: (bytes) => onSent(start + Math.min(bytes, part.size)), signal };
    onSent(start);
    const answer = await patiently(() => exchange("PUT", `${address}/${tags.length + 1}`, part, watched));
    if (answer.status !== 200) return answer;
    tags.push(JSON.parse(answer.text).etag);
    keep(file, sending);
  }
  const list = JSON.stringify({ parts: tags });
  return patiently(() => exchange("POST", `${address}?name=${encodeURIComponent(file.name)}`, list, { type: JSON_TYPE, signal }));
}

/** Tries again while the connection or the service is at fault. */
async function patiently(attempt) {
  for (const pause of PAUSES) {
    try {
      const answer = await attempt();
      if (answer.status < 500) return answer;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return attempt();
}

const nameOf = ({ name, size, lastModified }) => `${lastModified} ${size} ${name}`;

function kept(file) {
  try {
    const { name, at, ...sending } = JSON.parse(localStorage.getItem(KEY));
    return name === nameOf(file) && Date.now() - at < KEPT && Array.isArray(sending.tags) ? sending : null;
  } catch {
    return null; // nothing is kept, or something else is there
  }
}

function keep(file, sending) {
  const at = sending.at ??= Date.now();
  try {
    localStorage.setItem(KEY, JSON.stringify({ name: nameOf(file), ...sending, at }));
  } catch {
    // The browser keeps nothing: then the file is sent from its start.
  }
}

function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // The browser keeps nothing.
  }
}
