// Compares the fake service of the viewer's tests with a running one, by the requests that pages and viewer make: what
// they read must be alike. Arguments: { service, ready, processing, failed }: ids of contents. Reports the differences.

import { startFakeService } from "../../edge/viewer/tests/fake_service.mjs";

const { service, ...ids } = JSON.parse(process.argv[2]);
const UNKNOWN = "00000000000";
/** Headers by which a browser lets other sites embed. */
const POLICIES = ["Access-Control-Allow-Origin", "Cross-Origin-Resource-Policy", "Cross-Origin-Embedder-Policy"];
/** Pictures have other types in the fake. */
const TYPES = ["application/json", "text/css", "text/event-stream", "text/html", "text/javascript"];

/** Returns all answers of a service by what was asked for. */
async function answersOf(origin, { ready, processing, failed }) {
  const all = {};
  /**
   * Of errors and redirects only the status is read, which may be in the body, and policies only where other sites ask.
   */
  async function ask(name, target, options = {}, header = "Content-Security-Policy") {
    const response = await fetch(new URL(target, origin), { redirect: "manual", ...options });
    const { status, headers } = response;
    all[name] = { status };
    if (![200, 201].includes(status)) return null;
    const type = options.method !== "HEAD" && TYPES.find((one) => headers.get("Content-Type")?.startsWith(one));
    const body = await bodyOf(response, type);
    const policies = options.method ? [] : POLICIES.map((policy) => headers.get(policy));
    const of = { status, type, policies: String(policies), [header]: headers.has(header), body: shapeOf(body) };
    all[name] = body?.error ? { status: body.status } : of;
    return body;
  }
  const post = (body) => ({ method: "POST", body });
  const content = (id) => `/v1/content/${id}`;

  await ask("the home page", "/");
  for (const page of ["docs", "bot", "assets/share.js", "assets/page.css"]) await ask(page, `/${page}`);
  for (const [state, id] of Object.entries({ ready, processing, failed, unknown: UNKNOWN })) {
    await ask(`the page of a ${state} content`, `/${id}`);
    await ask(`a ${state} content`, content(id));
    if (state === "unknown") continue;
    await ask(`the page for frames of a ${state} content`, `/${id}/embed`);
    await ask(`the events of a ${state} content`, `${content(id)}/events`);
  }
  const { url, dzi } = await (await fetch(new URL(content(ready), origin))).json();
  await ask("a content by its URL", `/v1/content/?url=${encodeURIComponent(url)}`);
  await ask("the script of an embed", `/${ready}.js`);
  for (const name of ["preview.jpg", "thumbnail.jpg", "at/9,9,3.jpg"]) await ask(name, `/${ready}/${name}`);
  await ask("the archive", `/${ready}/download`, { method: "HEAD" }, "Content-Length");
  await ask("the descriptor", dzi.url, { method: "HEAD" }, "Last-Modified");
  await ask("a tile", dzi.url.replace(".dzi", `_files/0/0_0.${dzi.tileFormat}`));

  const name = "?format=json&name=letter.txt";
  const file = crypto.randomUUID(); // a known file has no key
  const { content: uploaded } = await ask("an upload", `/v1/content/${name}`, post(file));
  const deletion = (key) => ({ method: "DELETE", headers: { Authorization: `Bearer ${key}` } });
  await ask("a deletion with a wrong key", content(uploaded.id), deletion("wrong"));
  await ask("a deletion", content(uploaded.id), deletion(uploaded.deletionKey));
  await ask("the page of a deleted content", `/${uploaded.id}`);
  const { address } = await ask("the start of an upload in parts", "/v1/uploads/", post());
  const { etag } = await ask("a part", `${address}/1`, { method: "PUT", body: file });
  await ask("the end of an upload in parts without its part", `${address}${name}`, post(JSON.stringify({ parts: [] })));
  await ask("the end of an upload in parts", `${address}${name}`, post(JSON.stringify({ parts: [etag] })));
  return all;
}

/** Returns a JSON value, the first event of a stream, or the elements of a page that scripts find. */
async function bodyOf(response, type) {
  if (type === "application/json") return response.json();
  if (type === "text/event-stream") {
    const { value } = await response.body.pipeThrough(new TextDecoderStream()).getReader().read();
    return JSON.parse(/^data: (.*)$/m.exec(value)[1]);
  }
  const text = await response.text();
  return type === "text/html" ? Object.fromEntries([...text.matchAll(/\sid="([\w-]+)"|\s(data-[\w-]+)=/g)].map(([, id, data]) => [id ?? data, ""])) : null;
}

/** Returns a value with the names of types in place of what is in it. */
function shapeOf(value) {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

/** Returns the differences between two values, with their places. */
function differences(real, fake, place) {
  if (typeof real !== "object" || typeof fake !== "object" || real === null || fake === null) {
    return real === fake ? [] : [`${place}: ${JSON.stringify(real)}, but the fake has ${JSON.stringify(fake)}`];
  }
  const names = new Set([...Object.keys(real), ...Object.keys(fake)]);
  return [...names].flatMap((name) => differences(real[name], fake[name], `${place}, ${name}`));
}

const fake = await startFakeService();
const stages = { ready: { kind: "ready" }, processing: { kind: "processing", stage: "downloading" }, failed: { kind: "failed" } };
const fakes = Object.fromEntries(Object.entries(stages).map(([state, of]) => [state, fake.create(of)]));
const [real, faked] = [await answersOf(service, ids), await answersOf(fake.origin, fakes)];
console.log(JSON.stringify(Object.keys(real).flatMap((name) => differences(real[name], faked[name], name))));
process.exit();
