// Smoke test of a deployed service, as a client: every endpoint of its OpenAPI document in every form, and the
// conversion of a picture.

/** An id that no content has. */
const UNKNOWN = "00000000000";
/** Time limit of a response. */
const ANSWER_MS = 15_000;
const POLL_MS = 1_000;
const ZIP = "PK\x03\x04";

/** The forms of a response: standard and wrapped. */
const FORMS = [
  { name: "JSON", headers: { Accept: "application/json" }, type: "application/json" },
  { name: "XML", headers: { Accept: "application/xml" }, type: "application/xml" },
  { name: "wrapped JSON", query: "format=json", type: "application/json", wrapped: true },
  { name: "wrapped XML", query: "format=xml", type: "application/xml", wrapped: true },
  { name: "JSONP", query: "callback=cb", type: "javascript", wrapped: true },
];

/** A failed check. */
class CheckFailed extends Error {}

/**
 * Tests the service and returns the number of failed checks. `share` and `base` are the URLs of its pages and its API,
 * `picture` the URL of a picture to convert, `token` the tilers' token, `waitMs` the time limit for the service to come
 * up and for the conversion, `description` the URL of the OpenAPI document. `print` takes a line.
 */
export async function test({ share, base, picture, token, waitMs, print, description = `${share}/openapi.json` }) {
  const service = { share, base, waitMs, description };
  const checks = { failed: 0 };
  const check = async (name, holds) => {
    try {
      const said = await holds();
      print(`ok      ${name}${said ? `: ${said}` : ""}`);
    } catch (error) {
      checks.failed += 1;
      print(`failed  ${name}: ${error.message}`);
    }
  };
  await check("service answers", () => isUp(service));
  if (checks.failed) return 1;
  await check("unknown id, in each form", () => inEachForm(service, `/v1/content/${UNKNOWN}`, 404));
  await check("invalid URL, in each form", () => inEachForm(service, "/v1/content/?url=nonsense", 400));
  if (token) await check("tilers' token", () => tilersToken(service, token));
  let content;
  if (picture) {
    const query = `/v1/content/?url=${encodeURIComponent(picture)}`;
    await check("picture by URL, in each form", () => inEachForm(service, query, 301));
    await check("picture is converted", async () => {
      content = await ready(service, query);
      return `${content.dzi.width} × ${content.dzi.height} pixels`;
    });
    if (content) {
      await check("content by id, in each form", () => inEachForm(service, `/v1/content/${content.id}`, 200));
      await check("tiles", () => tiles(content));
      await check("archive", () => archive(service, content));
    }
  } else {
    print("note    edgezoom.toml names no picture, so none is converted");
  }
  await check("every documented endpoint", () => endpoints(service, content, picture));
  return checks.failed;
}

/** Waits for the service: a new domain takes a while to propagate and get a certificate. */
async function isUp({ share, waitMs }) {
  for (const end = Date.now() + waitMs; ;) {
    try {
      return await expect(get(`${share}/health`), 200).then(() => undefined);
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await pause();
  }
}

async function inEachForm({ base }, path, status) {
  for (const form of FORMS) {
    const url = base + path + (form.query ? `${path.includes("?") ? "&" : "?"}${form.query}` : "");
    const answer = await get(url, form.headers);
    const type = answer.headers.get("Content-Type") ?? "";
    const isError = status >= 400 && !form.wrapped;
    holds(answer.status === (form.wrapped ? 200 : status), `${form.name}: ${answer.status} for ${path}`);
    holds(type.includes(isError ? "text/plain" : form.type), `${form.name}: Content-Type is ${type}`);
    holds(form.wrapped || status !== 301 || answer.headers.has("Location"), `${form.name}: 301 without Location`);
    if (form.name === "wrapped JSON")
      holds(JSON.parse(answer.body).status === status, `the body is ${answer.body.slice(0, 60)}`);
    if (form.name === "wrapped XML")
      holds(answer.body.includes(`<status>${status}</status>`), "the body lacks the status");
    if (form.name === "JSONP") holds(/\bcb\(/.test(answer.body), "the body does not call the function");
  }
  return `${status}`;
}

/** Makes a call that only tilers may make, for an unknown content. */
async function tilersToken({ share }, token) {
  const reset = (bearer) =>
    send(`${share}/internal/content/${UNKNOWN}/reset`, {
      method: "POST",
      headers: { Authorization: `Bearer ${bearer}` },
    });
  await expect(reset(`not-${token}`), 401);
  await expect(reset(token), 404);
}

async function ready({ base, waitMs }, query) {
  const { id } = JSON.parse((await get(base + query)).body);
  for (const end = Date.now() + waitMs; ;) {
    const content = JSON.parse((await expect(get(`${base}/v1/content/${id}`), 200)).body);
    if (content.ready) return content;
    if (content.failed)
      throw new CheckFailed(`conversion failed: ${content.failure?.code ?? ""} ${content.failure?.message ?? ""}`);
    if (Date.now() > end) {
      const isWaiting = content.stage === "queued";
      throw new CheckFailed(
        isWaiting ? "no tiler takes the job; start one with the variables above" : `still ${content.stage} after the time limit`,
      );
    }
    await pause();
  }
}

/** Checks the descriptor, and the single tile of the smallest level. */
async function tiles({ dzi }) {
  const descriptor = await expect(get(dzi.url), 200);
  holds(descriptor.body.includes(`Width="${dzi.width}"`), "the descriptor has a wrong width");
  const tile = await expect(get(`${dzi.url.replace(/\.dzi$/, "_files")}/0/0_0.${dzi.tileFormat}`), 200);
  holds(tile.headers.get("Content-Type")?.startsWith("image/"), `a tile's Content-Type is ${tile.headers.get("Content-Type")}`);
  holds(tile.body.length > 0, "a tile is empty");
}

async function archive({ share }, { id }) {
  const answer = await send(`${share}/${id}/download`, { headers: { Range: "bytes=0-3" } });
  holds([200, 206].includes(answer.status), `${answer.status}`);
  holds(answer.body.startsWith(ZIP), "the archive is no ZIP");
}

/** Checks that each endpoint answers with a documented status. */
async function endpoints(service, content, picture) {
  const { share, base } = service;
  const { paths } = JSON.parse((await expect(get(service.description), 200)).body);
  const attempt = content?.dzi.url.match(/\/(\d+)\.dzi$/)?.[1] ?? "1";
  const values = {
    id: content?.id ?? UNKNOWN,
    attempt,
    level: "0",
    column: "0",
    row: "0",
    format: content?.dzi.tileFormat ?? "jpg",
  };
  const queries = {
    "/v1/content/": `url=${encodeURIComponent(picture ?? "nonsense")}`,
    "/v1/dzi/": `url=${encodeURIComponent(picture ?? "nonsense")}`,
    "/oembed": `url=${encodeURIComponent(`${share}/${values.id}`)}`,
  };
  const left = [];
  let tried = 0;
  for (const [path, { get: described }] of Object.entries(paths)) {
    if (!described) continue;
    const filled = path.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
    if (filled.includes("{")) {
      left.push(path);
      continue;
    }
    const origin = /^\/(v1|cache)\//.test(path) ? base : share;
    const url = `${origin}${filled}${queries[path] ? `?${queries[path]}` : ""}`;
    const { status } = await get(url);
    holds(String(status) in described.responses && status < 500, `${path}: undocumented status ${status}`);
    tried += 1;
  }
  return `${tried} tested${left.length ? `, not ${left.join(", ")}` : ""}`;
}

const get = (url, headers) => send(url, { headers });

/** Returns the response. Of an event stream or archive it reads only the first chunk. */
async function send(url, init) {
  const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS), ...init });
  const { status, headers } = response;
  const isEndless = headers.get("Content-Type")?.startsWith("text/event-stream") || /\/download$/.test(url);
  if (!isEndless) return { status, headers, url, body: await response.text() };
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return { status, headers, url, body: Buffer.from(value ?? []).toString("latin1") };
}

async function expect(answer, status) {
  const got = await answer;
  holds(got.status === status, `${got.status} instead of ${status} from ${got.url}`);
  return got;
}

function holds(condition, otherwise) {
  if (!condition) throw new CheckFailed(otherwise);
}

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));
