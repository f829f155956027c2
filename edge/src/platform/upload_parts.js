// Files in parts: R2's own multipart uploads. Parts stream from the request to R2; when all have come, the file is read once for its
// SHA-256. No byte of it passes through JavaScript or wasm.

/** What R2 says of an upload that does not exist, or not any more. */
const NO_SUCH_UPLOAD = /\(10024\)/;
/** What R2 says of parts that are too small (10011), not those that were sent (10025), or of several sizes (10048). */
const WRONG_PARTS = /\((10011|10025|10048)\)/;

/** Begins a file under a new key. Gives the key's digits, a dot, and R2's id of the upload, percent-encoded. */
export async function beginUpload(bucket) {
  const digits = crypto.randomUUID().replaceAll("-", "");
  const { uploadId } = await bucket.createMultipartUpload(`uploads/${digits}`);
  return `${digits}.${encodeURIComponent(uploadId)}`;
}

/** Stores a part. Gives its tag, or `!` and the name of an error. */
export async function putPart(request, bucket, key, id, number) {
  try {
    const { etag } = await resumed(bucket, key, id).uploadPart(number, request.body ?? new Uint8Array(0));
    return etag;
  } catch (error) {
    return refusal(error);
  }
}

/** Completes a file with the tags that the request lists. Gives its SHA-256 in base64url, or `!` and the name of an error. */
export async function finishUpload(request, bucket, key, id, most) {
  const list = await request.text();
  try {
    const { parts } = JSON.parse(list);
    if (!Array.isArray(parts) || parts.length === 0) return "!malformed-parts";
    await resumed(bucket, key, id).complete(parts.map((etag, at) => ({ partNumber: at + 1, etag: String(etag) })));
  } catch (error) {
    // It may be complete already, and the answer was lost.
    if (!(await bucket.head(key))) return refusal(error);
  }
  const file = await bucket.get(key);
  if (!file) return "!not-begun";
  if (file.size === 0 || file.size > most) {
    await bucket.delete(key);
    return file.size === 0 ? "!no-file" : "!too-large";
  }
  const hash = new crypto.DigestStream("SHA-256");
  await file.body.pipeTo(hash);
  const digest = String.fromCharCode(...new Uint8Array(await hash.digest));
  return btoa(digest).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const resumed = (bucket, key, id) => bucket.resumeMultipartUpload(key, decodeURIComponent(id));

function refusal(error) {
  if (NO_SUCH_UPLOAD.test(error.message)) return "!not-begun";
  // Of a list that is no JSON, or that has other things than tags.
  if (WRONG_PARTS.test(error.message) || error instanceof SyntaxError || error instanceof TypeError) return "!malformed-parts";
  throw error;
}
