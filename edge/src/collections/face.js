// Requests that everybody may make and a collection's object answers. Rust makes the responses (`edge/collections/src/face/`).

import { repeated } from "../platform/objects.js";

/** A collection's page and its documents for IIIF. */
const PUBLIC = /^\w+:\/\/[^/]+\/(?:c|iiif\/(?:collection|activity))\/([a-z\d-]{3,40})(?:\/(?:embed|\d+))?\/?(?:\?|$)/;
/** A request for oEmbed of a collection's page, whose address may be encoded. */
const OEMBED = /^\w+:\/\/[^/]+\/oembed\/?\?(?:.*&)?url=https?(?::|%3A)(?:\/|%2F){2}[^/?&%]+(?:%3A\d+)?(?:\/|%2F)c(?:\/|%2F)([a-z\d-]{3,40})(?=[^a-z\d-]|$)/i;

/** Returns the name of the collection whose object answers a request; undefined if it is another request. */
export const collectionOf = ({ method, url }) => (method === "GET" || method === "HEAD" ? (PUBLIC.exec(url) ?? OEMBED.exec(url))?.[1] : undefined);

/** Returns the response of a collection's object. */
export async function faceOf(name, { method, url, headers }, { COLLECTIONS, SHARE_BASE, BASE_URL }) {
  const request = JSON.stringify({ url, base: SHARE_BASE || BASE_URL || "", known: headers.get("If-None-Match") ?? "" });
  const reply = await repeated(() => COLLECTIONS.getByName(name).face(request));
  const end = reply.indexOf("\n");
  return new Response(method === "HEAD" ? null : reply.slice(end + 1) || null, JSON.parse(reply.slice(0, end)));
}
