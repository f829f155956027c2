// The Worker to compare with: the least JavaScript that gives the same response for a finished content. It checks the
// headers and parameters that select the form, and has one route.

const MARKS = /\ufdd0[sc]/g;

export default {
  async fetch(request, env) {
    const { origin, pathname, searchParams } = new URL(request.url);
    if (searchParams.has("format") || searchParams.has("callback") || /xml/.test(request.headers.get("Accept"))) {
      return new Response("Only JSON.", { status: 400 });
    }
    const [, id] = /^\/v1\/content\/([0-9A-Za-z]{11})$/.exec(pathname) ?? [];
    const record = id && (await env.FINISHED.get(id));
    if (!record) return new Response("There is no content with this id.", { status: 404 });
    const template = record.split("\n", 3)[2];
    const body = template.replace(MARKS, (mark) => (mark === "\ufdd0s" ? origin : `${origin}/cache`));
    const tag = entityTag(body);
    const headers = {
      "Access-Control-Allow-Origin": "*",
      "Cache-Control": "public, max-age=3600",
      "Content-Type": "application/json; charset=utf-8",
      ETag: tag,
      Vary: "Accept",
      "X-Content-Type-Options": "nosniff",
    };
    if (request.headers.get("If-None-Match") === tag) return new Response(null, { status: 304, headers });
    return new Response(body, { headers });
  },
};

/** FNV-1a. */
function entityTag(body) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < body.length; at++) hash = Math.imul(hash ^ body.charCodeAt(at), 0x01000193);
  return `"${(hash >>> 0).toString(16)}"`;
}
