// Uploads of files. In one request, the file is streamed to R2 and hashed on the way, with at most two parts in memory.
// In parts, it is R2's own multipart upload: parts stream from requests to R2, and the complete file is read once for
// its hash. No byte passes through wasm.

import { free, hold, within } from "../platform/bounds.js";
import { repeated } from "../platform/objects.js";

/** Size of a part in bytes: R2's minimum. All parts but the last must have one size. */
const PART = 5 << 20;
/** Maximum number of files received concurrently. */
const MAX_RECEIVING = 8;
/** Maximum number of them for one client. */
const MAX_OF_CLIENT = 2;
/** Files are received while all requests hold at most this number of bytes, so that a region always finds room. */
const MAX_HELD = 32 << 20;
/** Time without data, in milliseconds, after which an upload counts as stalled. */
const STALL = 60_000;
/** Minimum number of bytes in each minute that the service waits for the client. */
const LEAST_A_MINUTE = 600_000;
/** Maximum duration of a request with a file, and with a part, in milliseconds. */
const DEADLINE = 30 * 60_000;
const PART_DEADLINE = 10 * 60_000;
/** Maximum size of a form without its file: boundaries, headers and other fields. */
const FORM_EXTRA = 1 << 20;
const MAX_HEADERS = 8 << 10;

/** A rejected upload; the message names an error of `files.rs`. */
class Refused extends Error {}

/** Returns the result of `work` for Rust, as JSON: `{ Ok: … }`, or `{ Err: … }` with the name of an error. */
async function result(work) {
  try {
    return JSON.stringify({ Ok: await work() });
  } catch (error) {
    if (error instanceof Refused) return JSON.stringify({ Err: error.message });
    throw error;
  }
}

/** Returns the answer of a client's object, unless that names an error. */
function granted(answer) {
  if (answer.error) throw new Refused(answer.error);
  return answer;
}

/** The files being received, as `takePlace` returns them. */
const receiving = new Set();

/**
 * Takes a place among the files being received, and memory for two parts of a body of `length` bytes, -1 if that is
 * unknown. Returns the place, with its room and the times of the last data and of the beginning; undefined if there is
 * none. Places of clients are never all taken by one.
 */
export function takePlace(client, length) {
  const now = Date.now();
  for (const file of receiving) if (file.room.until < now) receiving.delete(file);
  const own = [...receiving].filter((file) => file.client === client).length;
  if (receiving.size >= MAX_RECEIVING || (client && own >= MAX_OF_CLIENT)) return undefined;
  const room = hold(length < 0 ? 2 * PART : Math.min(length, 2 * PART), now + 2 * STALL, MAX_HELD);
  if (!room) return undefined;
  const file = { client, room, at: now, started: now };
  receiving.add(file);
  return file;
}

/**
 * Stores the file of a request under a new key. `length` is that of the body, or -1 if it is unknown, and `expected`
 * the digest that the file must have, if any. Returns its key, its SHA-256 in base64url and its name.
 */
export const receiveFile = (...of) => result(() => received(...of));

async function received(request, env, party, length, expected, maxBytes) {
  const file = takePlace(party, length);
  if (!file) throw new Refused("busy");
  let body = [];
  let back = 0;
  try {
    const counted = length >= 0 ? Math.min(length, maxBytes) : maxBytes;
    const objects = env.UPLOADS.getByName(await nameOf(party, env));
    granted(await objects.receive(party, counted, maxBytes));
    file.bytes = 0;
    if (request.body) body = chunksOf(request.body.getReader(), file);
    const type = request.headers.get("Content-Type") ?? "";
    const isForm = /^multipart\/form-data\b/i.test(type);
    const { name, chunks } = isForm ? await fileIn(body, boundaryOf(type), maxBytes) : { name: "", chunks: body };
    const key = `uploads/${crypto.randomUUID().replaceAll("-", "")}`;
    const digest = await store(chunks, env.PYRAMIDS, key, maxBytes, length < 0 ? maxBytes : length);
    // Without a length, the largest file was counted.
    back = length >= 0 ? 0 : file.bytes - counted;
    if (back < 0) await objects.receive(party, back, maxBytes);
    // A form in which no file was chosen has an empty one without a name.
    if (!digest) throw new Refused(isForm && !name ? "no-file" : "empty-file");
    if (expected && digest !== expected) {
      await env.PYRAMIDS.delete(key);
      throw new Refused("other-file");
    }
    return { key, digest, name };
  } finally {
    receiving.delete(file);
    free(file.room);
    await body.return?.(); // the rest of a form is not read
  }
}

/**
 * Yields the chunks of a reader, until the client stalls, sends too slowly, or takes too long. Only the time that is
 * spent waiting for the client counts for its rate: the store may be slow, too.
 */
export async function* chunksOf(reader, file) {
  let isWaiting = false;
  let isStalled = false;
  let minute = { waited: 0, bytes: 0 };
  const watch = setInterval(() => {
    const now = Date.now();
    isStalled ||= (isWaiting && now - file.at > STALL) || now - file.started > DEADLINE;
    if (isStalled) reader.cancel().catch(() => {}); // ends the pending read
  }, STALL / 4);
  try {
    for (;;) {
      [file.at, isWaiting] = [Date.now(), true];
      file.room.until = file.at + 2 * STALL;
      const { value, done } = await reader.read();
      isWaiting = false;
      if (isStalled) throw new Refused("stalled");
      if (done) return;
      file.bytes += value.length;
      minute = { waited: minute.waited + Date.now() - file.at, bytes: minute.bytes + value.length };
      if (minute.waited >= STALL) {
        if (minute.bytes < LEAST_A_MINUTE) throw new Refused("stalled");
        minute = { waited: 0, bytes: 0 };
      }
      yield value;
    }
  } finally {
    clearInterval(watch);
    reader.cancel().catch(() => {});
  }
}

/**
 * Stores chunks under a key, `atMost` this number of bytes. Returns their SHA-256; null if there is no byte. Then, and
 * on failure, nothing is stored.
 */
async function store(chunks, bucket, key, maxBytes, atMost) {
  const hash = new crypto.DigestStream("SHA-256");
  hash.digest.catch(() => {}); // awaited only after the last chunk
  const hashed = hash.getWriter();
  let part = new Uint8Array(Math.min(PART, atMost));
  let filled = 0;
  let bytes = 0;
  let upload;
  const sent = [];
  const send = async () => {
    upload ??= await bucket.createMultipartUpload(key);
    await sent.at(-1); // one part is being sent while another is filled
    const sending = upload.uploadPart(sent.length + 1, part.subarray(0, filled));
    sending.catch(() => {}); // awaited later
    sent.push(sending);
  };
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        // Many clients read the response only after they have sent everything, so a little more is read.
        if (bytes > maxBytes + FORM_EXTRA) break;
        continue;
      }
      await hashed.write(chunk);
      for (let at = 0; at < chunk.length; ) {
        if (filled === PART) {
          await send();
          [part, filled] = [new Uint8Array(Math.min(PART, atMost - sent.length * PART)), 0];
        }
        const next = chunk.subarray(at, at + PART - filled);
        part.set(next, filled);
        filled += next.length;
        at += next.length;
      }
    }
    if (bytes > maxBytes) throw new Refused("too-large");
    await hashed.close();
    if (bytes === 0) return null;
    if (upload) {
      await send();
      await upload.complete(await Promise.all(sent));
    } else await bucket.put(key, part.subarray(0, filled));
  } catch (error) {
    hashed.abort(error).catch(() => {});
    if (upload) await Promise.allSettled(sent).then(() => upload.abort());
    throw error;
  }
  return base64url(await hash.digest);
}

function boundaryOf(type) {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(type) ?? [];
  if (!quoted && !plain) throw new Refused("malformed-form");
  return quoted ?? plain;
}

/**
 * Returns the first file of a form (RFC 7578): `{ name, chunks }`. The rest is not read. Chunks may be cut anywhere.
 */
export async function fileIn(form, boundary, maxBytes) {
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  const source = form[Symbol.asyncIterator]?.() ?? form[Symbol.iterator]();
  // The first delimiter may have no line end before it.
  let rest = new Uint8Array([13, 10]);
  let seen = 0;

  /** Reads a chunk into the rest. */
  async function more() {
    const { value, done } = await source.next();
    if (done) throw new Refused(seen === 0 ? "no-file" : "malformed-form");
    seen += value.length;
    if (seen > maxBytes + FORM_EXTRA) throw new Refused("too-large");
    const joined = new Uint8Array(rest.length + value.length);
    joined.set(rest);
    joined.set(value, rest.length);
    rest = joined;
  }

  /** Yields the bytes before the next delimiter, and skips it. */
  async function* untilDelimiter() {
    for (;;) {
      const at = indexOf(rest, delimiter);
      if (at >= 0) {
        const piece = rest.subarray(0, at);
        rest = rest.subarray(at + delimiter.length);
        yield piece;
        return;
      }
      // The rest may end with the beginning of a delimiter.
      const whole = Math.max(0, rest.length - delimiter.length + 1);
      const piece = rest.subarray(0, whole);
      rest = rest.subarray(whole);
      if (piece.length > 0) yield piece;
      await more();
    }
  }

  /** Returns the header lines after a delimiter. */
  async function headers() {
    const end = new Uint8Array([13, 10, 13, 10]);
    for (;;) {
      const at = indexOf(rest, end);
      if (at > MAX_HEADERS || (at < 0 && rest.length > MAX_HEADERS)) throw new Refused("malformed-form");
      // The last delimiter ends with two hyphens.
      if (rest[0] === 45 && rest[1] === 45) throw new Refused("no-file");
      if (at >= 0) {
        const text = new TextDecoder().decode(rest.subarray(0, at));
        rest = rest.subarray(at + end.length);
        return text;
      }
      await more();
    }
  }

  for (;;) {
    for await (const _ of untilDelimiter());
    const name = fileName(await headers());
    if (name !== undefined) return { name, chunks: untilDelimiter() };
  }
}

/** Returns the name of a file from the headers of its part; undefined if the field is not a file. */
function fileName(headers) {
  const disposition = headers.split("\r\n").find((line) => /^content-disposition:/i.test(line)) ?? "";
  const [, name] = /;\s*filename="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? /;\s*filename=([^\s;]*)/i.exec(disposition) ?? [];
  // Browsers escape quotes and line ends (HTML, "Constructing the form data set").
  return name?.replace(/%22/g, '"').replace(/%0[AD]/gi, " ").replace(/\s+/g, " ");
}

function indexOf(bytes, wanted) {
  for (let at = bytes.indexOf(wanted[0]); at >= 0 && at + wanted.length <= bytes.length; at = bytes.indexOf(wanted[0], at + 1)) {
    let same = 1;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same += 1;
    if (same === wanted.length) return at;
  }
  return -1;
}

const base64url = (bytes) => new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });

/** Returns a random number of 256 bits as text. */
export const randomKey = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** R2's error for an upload that does not exist. */
const NO_SUCH_UPLOAD = /\(10024\)/;
/** R2's errors for parts that are too small (10011), were not sent (10025), or differ in size (10048). */
const WRONG_PARTS = /\((10011|10025|10048)\)/;

/**
 * Returns the name of the object with a client's uploads. It is in the addresses of uploads, so it does not show the
 * client's address: without the secret, it could be found by trying all addresses of IPv4.
 */
async function nameOf(party, env) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${env.TILER_TOKEN} ${party}`));
  return new Uint8Array(digest).toHex().slice(0, 32);
}

/** Begins an upload of `owner`, the key of a client of `party`. Returns the name of its object, and its token. */
export const beginUpload = (env, party, owner, expected) =>
  result(async () => {
    const object = await nameOf(party, env);
    const { token } = granted(await env.UPLOADS.getByName(object).begin(party, owner, expected));
    return { object, token };
  });

/** Stores a part. Returns its tag. */
export const putPart = (request, env, object, token, number, bytes, partBytes, maxBytes) =>
  result(async () => {
    const { key, id } = granted(await env.UPLOADS.getByName(object).part(token, number, bytes, partBytes, maxBytes));
    const sent = env.PYRAMIDS.resumeMultipartUpload(key, id).uploadPart(number, request.body);
    try {
      return (await within(PART_DEADLINE, sent, new Refused("stalled"))).etag;
    } catch (error) {
      throw refused(error);
    }
  });

/** Counts a deletion by a client. */
export const countDeletion = (env, party) =>
  result(async () => {
    granted(await env.UPLOADS.getByName(await nameOf(party, env)).deletion(party));
    return "";
  });

/** Returns the key of the client that began an upload. */
export const ownerOf = (env, object, token) => result(async () => granted(await repeated(() => env.UPLOADS.getByName(object).owner(token))).owner);

/**
 * Completes an upload with the tags that the request lists. Returns the file's key and its SHA-256 in base64url. A file
 * is read for its hash once: repeated requests get the same digest.
 */
export const finishUpload = (request, env, object, token, maxBytes) =>
  result(async () => {
    const list = await request.text();
    const uploads = env.UPLOADS.getByName(object);
    const upload = granted(await uploads.complete(token));
    const { key } = upload;
    if (upload.digest) {
      // The file is deleted when its conversion has ended.
      if (!(await env.PYRAMIDS.head(key))) throw new Refused("not-begun");
      return { key, digest: upload.digest };
    }
    let digest = "";
    try {
      digest = await completed(list, env.PYRAMIDS, upload, maxBytes);
      return { key, digest };
    } catch (error) {
      if (DELETED.includes(error.message)) digest = null;
      throw error;
    } finally {
      await uploads.settle(token, digest);
    }
  });

/** The errors after which the file of an upload is deleted. */
const DELETED = ["empty-file", "too-large", "other-file"];

async function completed(list, bucket, { key, id, expected }, maxBytes) {
  try {
    const { parts } = JSON.parse(list);
    if (!Array.isArray(parts) || parts.length === 0) throw new Refused("malformed-parts");
    await bucket.resumeMultipartUpload(key, id).complete(parts.map((etag, at) => ({ partNumber: at + 1, etag: String(etag) })));
  } catch (error) {
    if (error instanceof Refused) throw error;
    // The Worker that completed it may have died before it noted the digest.
    if (!(await bucket.head(key))) throw refused(error);
  }
  const file = await bucket.get(key);
  if (!file) throw new Refused("not-begun");
  async function discard(name) {
    await bucket.delete(key);
    throw new Refused(name);
  }
  if (file.size === 0) await discard("empty-file");
  if (file.size > maxBytes) await discard("too-large");
  const hash = new crypto.DigestStream("SHA-256");
  await file.body.pipeTo(hash);
  const digest = base64url(await hash.digest);
  if (expected && digest !== expected) await discard("other-file");
  return digest;
}

/** Returns the refusal that an error of R2 means, or else the error. */
function refused(error) {
  if (NO_SUCH_UPLOAD.test(error.message)) return new Refused("not-begun");
  // A list that is not JSON, or has something else than tags.
  const isMalformed = WRONG_PARTS.test(error.message) || error instanceof SyntaxError || error instanceof TypeError;
  return isMalformed ? new Refused("malformed-parts") : error;
}
