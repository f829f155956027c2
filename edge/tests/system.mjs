// The Worker as it was built, running in the Workers runtime with everything it is bound to, and a tiler's side of it: what the
// tests beside this one share. Needs `cargo xtask build-edge`.

import { createTestHarness } from "wrangler";

const TOKEN = "a-token-for-tests-only";

/** What a tiler reports of a rendered picture. */
export const DZI = { width: 8000, height: 6000, tileSize: 510, tileOverlap: 1, tileFormat: "jpg" };

/** Starts a system, bound as wrangler.toml says; `vars` are the operator's. */
export async function start(vars = {}) {
  const configPath = new URL("../../wrangler.toml", import.meta.url);
  const harness = createTestHarness({ workers: [{ configPath, vars, secrets: { TILER_TOKEN: TOKEN } }] });
  const { origin } = (await harness.listen()).url;

  /** Sends a request and does not follow where it leads. */
  async function send(target, init = {}) {
    const response = await fetch(new URL(target, origin), { redirect: "manual", ...init });
    const { status, headers } = response;
    return { status, headers, type: headers.get("content-type"), body: await response.text() };
  }

  function post(path, body) {
    const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
    return send(path, { method: "POST", headers, body: body && JSON.stringify(body) });
  }

  /** Asks for the content of a source and gives its id. */
  async function create(url) {
    return JSON.parse((await send(`/v1/content/?url=${encodeURIComponent(url)}`)).body).id;
  }

  /** Claims the job of a content, as a tiler; gives a function that reports. */
  async function claim(id) {
    const { attempt } = JSON.parse((await post(`/internal/content/${id}/claim`)).body);
    return (outcome) => post(`/internal/content/${id}/report`, { attempt, outcome });
  }

  /** Creates a content and brings it where the test wants it: "queued", "rendering", "ready" or "failed". */
  async function content(url, state) {
    const id = await create(url);
    if (state === "queued") return id;
    const report = await claim(id);
    await report({ progress: { stage: "rendering", progress: 0.25 } });
    if (state === "ready") await report({ finished: { dzi: DZI } });
    const failure = { code: "source-not-found", message: "There is nothing at the URL (404)." };
    if (state === "failed") await report({ "gave-up": { failure } });
    return id;
  }

  /** Puts a file into the store, as a tiler. */
  async function put(key, bytes, contentType) {
    const { PYRAMIDS } = await harness.getWorker().getEnv();
    await PYRAMIDS.put(key, bytes, { httpMetadata: { contentType } });
  }

  return { origin, send, post, create, claim, content, put, stop: () => harness.close() };
}
