// Takes a file that a client sends: streams it from the request to R2 and computes its SHA-256 on the way. At most two parts
// are in memory, however large the file is. No byte of it passes through wasm.

/** The bytes of a part; R2 wants 5 MiB at least, and all parts but the last of one size. */
const PART = 5 << 20;
/** The files that are received at once: an isolate, which has 128 MB of memory, keeps two parts of each. */
const MOST_AT_ONCE = 8;
/** How long a client may send nothing, in milliseconds. */
const STALL = 60_000;
/** What a form may have besides its file: the boundaries, headers and other fields. */
const FORM_EXTRA = 1 << 20;
const MOST_HEADERS = 8 << 10;

/** Why a file is not taken; the name of one of Rust's errors. */
class Refused extends Error {}

/** The files that are being received: `{ at }`, the time of a sign of life. A request that was aborted leaves its own here. */
const receiving = new Set();

/**
 * Stores the file of a request under a new key. Gives the key, the file's SHA-256 in base64url and its name, a line each, or `!` and
 * the name of the error.
 */
export async function receiveFile(request, bucket, most) {
  for (const file of receiving) if (Date.now() - file.at > 2 * STALL) receiving.delete(file);
  if (receiving.size >= MOST_AT_ONCE) return "!busy";
  const file = { at: Date.now() };
  receiving.add(file);
  const body = request.body ? chunksOf(request.body.getReader(), file) : [];
  try {
    const type = request.headers.get("Content-Type") ?? "";
    const { name, chunks } = /^multipart\/form-data\b/i.test(type) ? await fileIn(body, boundaryOf(type), most) : { name: "", chunks: body };
    const key = `uploads/${crypto.randomUUID().replaceAll("-", "")}`;
    const digest = await store(chunks, bucket, key, most);
    return `${key}\n${digest}\n${name}`;
  } catch (error) {
    if (error instanceof Refused) return `!${error.message}`;
    throw error;
  } finally {
    receiving.delete(file);
    await body.return?.(); // of a form, what follows the file is not read
  }
}

/** What a reader gives, until nothing comes for too long. */
async function* chunksOf(reader, file) {
  let isWaiting = false;
  let isStalled = false;
  const watch = setInterval(() => {
    isStalled ||= isWaiting && Date.now() - file.at > STALL;
    if (isStalled) reader.cancel().catch(() => {}); // ends the read that waits
  }, STALL / 4);
  try {
    for (;;) {
      [file.at, isWaiting] = [Date.now(), true];
      const { value, done } = await reader.read();
      isWaiting = false;
      if (isStalled) throw new Refused("stalled");
      if (done) return;
      yield value;
    }
  } finally {
    clearInterval(watch);
    reader.cancel().catch(() => {});
  }
}

/** Stores chunks under a key, and gives the SHA-256 of them all. Nothing is stored when that fails. */
async function store(chunks, bucket, key, most) {
  const hash = new crypto.DigestStream("SHA-256");
  hash.digest.catch(() => {}); // it is awaited only when all has come
  const hashed = hash.getWriter();
  let part = new Uint8Array(PART);
  let filled = 0;
  let bytes = 0;
  let upload;
  const sent = [];
  const send = async () => {
    upload ??= await bucket.createMultipartUpload(key);
    await sent.at(-1); // one part is on its way, and one is being filled
    const sending = upload.uploadPart(sent.length + 1, part.subarray(0, filled));
    sending.catch(() => {}); // it is awaited later
    sent.push(sending);
  };
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > most) {
        // Many clients send all before they read an answer: a little more is let pass.
        if (bytes > most + FORM_EXTRA) break;
        continue;
      }
      await hashed.write(chunk);
      for (let at = 0; at < chunk.length; ) {
        if (filled === PART) {
          await send();
          [part, filled] = [new Uint8Array(PART), 0];
        }
        const next = chunk.subarray(at, at + PART - filled);
        part.set(next, filled);
        filled += next.length;
        at += next.length;
      }
    }
    if (bytes > most) throw new Refused("too-large");
    if (bytes === 0) throw new Refused("no-file");
    await hashed.close();
    if (upload) {
      await send();
      await upload.complete(await Promise.all(sent));
    } else await bucket.put(key, part.subarray(0, filled));
  } catch (error) {
    hashed.abort(error).catch(() => {});
    if (upload) await Promise.allSettled(sent).then(() => upload.abort());
    throw error;
  }
  const digest = String.fromCharCode(...new Uint8Array(await hash.digest));
  return btoa(digest).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function boundaryOf(type) {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(type) ?? [];
  if (!quoted && !plain) throw new Refused("malformed-form");
  return quoted ?? plain;
}

/**
 * The first file of a form (RFC 7578) with this boundary: `{ name, chunks }`. What follows it is not read. The form's chunks may be cut
 * anywhere.
 */
export async function fileIn(form, boundary, most) {
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  const source = form[Symbol.asyncIterator]?.() ?? form[Symbol.iterator]();
  // The first delimiter may lack its line end.
  let rest = new Uint8Array([13, 10]);
  let seen = 0;

  /** Adds a chunk to the rest. */
  async function more() {
    const { value, done } = await source.next();
    if (done) throw new Refused(seen === 0 ? "no-file" : "malformed-form");
    seen += value.length;
    if (seen > most + FORM_EXTRA) throw new Refused("too-large");
    const joined = new Uint8Array(rest.length + value.length);
    joined.set(rest);
    joined.set(value, rest.length);
    rest = joined;
  }

  /** What comes before the delimiter, which is skipped. */
  async function* untilDelimiter() {
    for (;;) {
      const at = indexOf(rest, delimiter);
      if (at >= 0) {
        const piece = rest.subarray(0, at);
        rest = rest.subarray(at + delimiter.length);
        yield piece;
        return;
      }
      // The delimiter may have begun.
      const whole = Math.max(0, rest.length - delimiter.length + 1);
      const piece = rest.subarray(0, whole);
      rest = rest.subarray(whole);
      if (piece.length > 0) yield piece;
      await more();
    }
  }

  /** The lines after a delimiter, up to the empty one. */
  async function headers() {
    const end = new Uint8Array([13, 10, 13, 10]);
    for (;;) {
      const at = indexOf(rest, end);
      if (at > MOST_HEADERS || (at < 0 && rest.length > MOST_HEADERS)) throw new Refused("malformed-form");
      // The last delimiter has two hyphens, and maybe nothing behind it.
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

/** The name of a file by the headers of its part; undefined of a field that is no file. */
function fileName(headers) {
  const disposition = headers.split("\r\n").find((line) => /^content-disposition:/i.test(line)) ?? "";
  const [, name] = /;\s*filename="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? /;\s*filename=([^\s;]*)/i.exec(disposition) ?? [];
  // As browsers escape it (HTML, "Constructing the form data set"), on one line.
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
