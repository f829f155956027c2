// The bucket of pyramids for tilers in the operator's containers: the operations of S3 that they need, in the form that
// Amazon's client expects, on the Worker's binding. So a container needs no keys of the account.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html

/** R2's code for an upload that is complete, aborted or unknown. */
const NO_SUCH_UPLOAD = /\(10024\)/;

/**
 * Responds to a request for `/<bucket>/<key>`. The caller has checked the token; `mayUse(operation, keys)` says what else
 * is allowed.
 */
export async function answerStore(request, bucket, mayUse) {
  const url = new URL(request.url);
  const [, , path = ""] = /^\/([^/]+)\/?(.*)$/.exec(url.pathname) ?? [];
  const name = operationOf(request.method, url.searchParams);
  const operation = OPERATIONS[name];
  if (!operation) return failed(501, "NotImplemented");
  try {
    const keys = name === "delete" ? values(await request.text(), "Key") : [decodeURIComponent(path)];
    if (!(await mayUse(name, keys))) return failed(403, "AccessDenied");
    return await operation(bucket, keys, request, url.searchParams);
  } catch (error) {
    if (NO_SUCH_UPLOAD.test(error.message)) return failed(404, "NoSuchUpload");
    console.error("the bucket:", error);
    return failed(500, "InternalError"); // the client tries again
  }
}

function operationOf(method, query) {
  if (method === "POST") return ["uploads", "uploadId", "delete"].find((name) => query.has(name));
  return query.has("uploadId") ? `${method} part` : query.has("uploads") ? "list" : method;
}

const OPERATIONS = {
  async GET(bucket, [key], request) {
    const object = await bucket.get(key, { range: request.headers });
    if (!object) return failed(404, "NoSuchKey");
    return new Response(object.body, { status: 200, headers: { "Content-Length": object.size, ETag: object.httpEtag } });
  },

  async HEAD(bucket, [key]) {
    const object = await bucket.head(key);
    return new Response(null, object ? { headers: { "Content-Length": object.size, ETag: object.httpEtag } } : { status: 404 });
  },

  async PUT(bucket, [key], request) {
    const { httpEtag } = await bucket.put(key, request.body ?? "", { httpMetadata: metadataOf(request) });
    return new Response(null, { headers: { ETag: httpEtag } });
  },

  /** Deletes the objects that the body names. */
  async delete(bucket, keys) {
    await bucket.delete(keys);
    return xml("<DeleteResult/>");
  },

  /** Begins an upload in parts. */
  async uploads(bucket, [key], request) {
    const { uploadId } = await bucket.createMultipartUpload(key, { httpMetadata: metadataOf(request) });
    return xml(`<InitiateMultipartUploadResult><UploadId>${uploadId}</UploadId></InitiateMultipartUploadResult>`);
  },

  async "PUT part"(bucket, [key], request, query) {
    const upload = bucket.resumeMultipartUpload(key, query.get("uploadId"));
    const { etag } = await upload.uploadPart(Number(query.get("partNumber")), request.body);
    return new Response(null, { headers: { ETag: `"${etag}"` } });
  },

  /** Completes an upload from the parts that the body names. */
  async uploadId(bucket, [key], request, query) {
    const body = await request.text();
    const etags = values(body, "ETag").map((etag) => etag.replace(/^"|"$/g, ""));
    const parts = values(body, "PartNumber").map((number, index) => ({ partNumber: Number(number), etag: etags[index] }));
    const { httpEtag } = await bucket.resumeMultipartUpload(key, query.get("uploadId")).complete(parts);
    return xml(`<CompleteMultipartUploadResult><ETag>${escaped(httpEtag)}</ETag></CompleteMultipartUploadResult>`);
  },

  async "DELETE part"(bucket, [key], _, query) {
    await bucket.resumeMultipartUpload(key, query.get("uploadId")).abort();
    return new Response(null, { status: 204 });
  },

  // `list` of unfinished uploads: the binding has none. The bucket's rules delete their parts.
};

const metadataOf = ({ headers }) => ({ contentType: headers.get("Content-Type"), cacheControl: headers.get("Cache-Control") });

const ENTITIES = { quot: '"', amp: "&", lt: "<", gt: ">", apos: "'" };
const escaped = (text) => text.replace(/["&<>]/g, (letter) => `&#${letter.codePointAt(0)};`);

/** Returns the texts of all elements with a name. The client writes no other markup into them. */
const values = (body, name) =>
  [...body.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, text]) => text.replace(/&(\w+);/g, (whole, entity) => ENTITIES[entity] ?? whole));

const xml = (body, status = 200) => new Response(`<?xml version="1.0" encoding="UTF-8"?>${body}`, { status, headers: { "Content-Type": "application/xml" } });
const failed = (status, code) => xml(`<Error><Code>${code}</Code></Error>`, status);
