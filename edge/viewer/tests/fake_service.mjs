// A fake of the service for browser tests: the real pages' templates and assets, and contents whose state a test sets.
// Its JSON is made from the examples of the OpenAPI document and checked against its schemas. Tiles are drawings that
// show their names.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { assertMatches, components, example, paths } from "../../tests/openapi.mjs";
import { fakeCollection } from "./fake_collection.mjs";
import { serve } from "./servers.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const TYPES = {
  css: "text/css",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  webmanifest: "application/manifest+json",
};
const CORS = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };
const [, DOCS_POLICY] = /^\/docs\n {2}Content-Security-Policy: (.+)$/m.exec(await readFile(at("../pages/_headers"), "utf8"));

const { stage, ...QUEUED } = example("/v1/content/", "get", 301);
/** The content object in each state, at the document's origin. */
const CONTENTS = {
  processing: { ...QUEUED, stage },
  ready: example("/v1/content/{id}", "get", 200),
  failed: { ...QUEUED, failed: true, failure: components.schemas.Failure.example },
};
const EXAMPLE_ORIGIN = new URL(QUEUED.shareUrl).origin;
const FILE_URL = example("/v1/content/", "post", 301).url.split("?")[0];

const SIZE = { width: 6000, height: 4000 };
const TILE_SIZE = CONTENTS.ready.dzi.tileSize;
/** Maximum size of an upload in bytes. */
const MAX_BYTES = 40_000_000;
const PART_BYTES = 8 << 20;

export async function startFakeService() {
  const states = new Map();
  const listeners = new Map();
  const collection = fakeCollection();
  let down = false;
  let server;

  function contentObject(id) {
    const { kind, url, progress = 0, stage, retry, failure, size = SIZE, title, options, credits, warning, scale, coarse, text, vector } = states.get(id);
    const common = JSON.parse(JSON.stringify(CONTENTS[kind]).replaceAll(EXAMPLE_ORIGIN, server.origin).replaceAll(QUEUED.id, id));
    const own = {
      ready: () => ({ dzi: { ...common.dzi, ...size, tileFormat: "png" }, ...(title && { title }), ...(credits && { credits }), ...(warning && { warning }), ...(scale && { scale }), ...(text && { text: `${server.origin}/v1/content/${id}/text`, pages: text.pages.length }), ...(vector && { vector: `${server.origin}/cache/${id}/1_files/vector/pages.json` }) }),
      processing: () => ({ progress, stage: stage ?? common.stage, ...(retry && { retry }), ...(coarse && { coarseUrl: `${server.origin}/cache/${id}/1_coarse/${coarse}.jpg` }) }),
      failed: () => ({ failure: { ...common.failure, ...failure } }),
    };
    const file = url.startsWith("ni:") && new URL(url).searchParams.get("name")?.replace(/\.\w+$/, "");
    const content = { ...common, url, ...(file && { title: file }), ...(options && { options }), ...own[kind]() };
    assertMatches(components.schemas.Content, content, `the content in state ${kind}`);
    return content;
  }
  const contentResponse = (id) => ({ type: TYPES.json, headers: CORS, body: JSON.stringify(contentObject(id)) });
  /** Returns the document's example of a response with changes. */
  function described(path, method, status, changes) {
    const value = { ...example(path, method, status), ...changes };
    assertMatches(paths[path][method].responses[status].content["application/json"].schema, value, path);
    return { status, type: TYPES.json, body: JSON.stringify(value) };
  }
  const plain = (path, method, status, body) => {
    assertMatches(paths[path][method].responses[status].content["text/plain"].schema, body, path);
    return { status, type: "text/plain", body };
  };

  async function page(name, title, values, { framed = false } = {}) {
    const { origin } = server;
    const asset = (file) => `${origin}/assets/${file}`;
    const common = {
      home: `${origin}/`,
      icon: asset("icon.svg"),
      styles: asset("page.css"),
      assets: `${origin}/assets`,
      api: `${origin}/v1/content/`,
      repository: "https://example.com/source",
      picture: asset("hero"),
      viewer: asset("viewer.js"),
      examples: await examples(),
      notice: "",
      files: await fill("files", { address: `${origin}/v1/content/`, uploads: `${origin}/v1/uploads/`, most: MAX_BYTES }),
    };
    const body = await fill(name, { ...common, ...values });
    const script = { share: "share.js", embed: "share.js", home: "home.js", collection: "collection.js" }[name];
    const head = script ? `${values.base ?? ""}<script type="module" src="${asset(script)}"></script>` : "";
    const policy = [
      `default-src 'none'; script-src ${origin}; style-src ${origin}; img-src ${origin} data:; connect-src ${origin}; manifest-src ${origin}`,
      `base-uri 'none'; form-action ${origin}; frame-ancestors ${framed ? "*" : "'none'"}`,
    ].join("; ");
    const isolation = framed && { "Cross-Origin-Embedder-Policy": "require-corp" };
    return { headers: { ...CORS, "Content-Security-Policy": policy, ...isolation }, body: await fill("frame", { ...common, title, head, body }) };
  }
  function contentPage(name, id) {
    const { url, title } = contentObject(id);
    const isFile = url.startsWith("ni:");
    const values = {
      name: title ?? "old town.jpg",
      origin: isFile ? `<span class="origin">Uploaded file</span>` : `<a href="${url}" rel="nofollow noopener noreferrer">${new URL(url).hostname}</a>`,
      address: `${server.origin}/v1/content/${id}`,
      preview: "",
      cards: " data-cards",
      warning: `<p id="warning" role="status" hidden></p>`,
      content: JSON.stringify(contentObject(id)).replaceAll("</", "<\\/"),
    };
    return page(name, "old town.jpg – Edgezoom", values, { framed: name === "embed" });
  }

  /** Sends a content to its subscribers. */
  function publish(id) {
    for (const response of listeners.get(id) ?? []) response.write(`data: ${JSON.stringify(contentObject(id))}\n\n`);
  }
  function subscribe(id, response) {
    listeners.set(id, [...(listeners.get(id) ?? []), response]);
    response.writeHead(200, { "Content-Type": "text/event-stream", ...CORS });
    publish(id);
    const { steps = [] } = states.get(id);
    for (const step of steps) fake.set(id, { steps: undefined, ...step });
  }

  /** Returns the response object of an upload. */
  function wrapped(path, value) {
    assertMatches(paths[path].post.responses[200].content["application/json"].schema, value, path);
    return { type: TYPES.json, body: JSON.stringify(value) };
  }

  /** Creates the content of an upload, which is converted when a page follows it. */
  function uploaded(name, path = "/v1/content/") {
    if (name.endsWith(".refused")) return wrapped(path, { status: 415, statusText: "Unsupported Media Type", error: "Send the file as multipart/form-data." });
    const steps = [{ stage: "rendering", progress: 0.5 }, { kind: "ready" }];
    const id = fake.create({ kind: "processing", url: `${FILE_URL}?name=${encodeURIComponent(name)}`, steps });
    const redirectLocation = `${server.origin}/v1/content/${id}`;
    return wrapped(path, { status: 301, statusText: "Moved Permanently", redirectLocation, content: { ...contentObject(id), deletionKey: `key of ${id}` } });
  }

  /** Deletes a content if the key is its own. */
  function deleted(id, authorization) {
    const isOwn = authorization === `Bearer key of ${id}`;
    if (isOwn) states.set(id, { kind: "deleted" });
    const described = paths["/v1/content/{id}"].delete.responses[isOwn ? 204 : 403];
    if (!isOwn) assertMatches(described.content["text/plain"].schema, "The deletion key is wrong.");
    return isOwn ? { status: 204 } : { status: 403, type: "text/plain", body: "The deletion key is wrong." };
  }

  /** Sizes of the last upload's parts by their numbers. */
  const parts = new Map();
  let broken = 0;

  function uploadInParts(method, pathname, name, body) {
    if (pathname === "/v1/uploads/") {
      parts.clear();
      const address = `${server.origin}/v1/uploads/file`;
      return described("/v1/uploads/", "post", 201, { address, partBytes: PART_BYTES, mostBytes: MAX_BYTES });
    }
    if (method === "POST") {
      const { parts: tags } = JSON.parse(body);
      const complete = tags.length === parts.size && tags.every((tag, at) => tag === `tag ${at + 1}`);
      return complete ? uploaded(name, "/v1/uploads/{file}") : plain("/v1/uploads/{file}", "post", 400, "The parts do not form a file.");
    }
    const number = Number(pathname.split("/").at(-1));
    if (number === 2 && broken-- > 0) return plain("/v1/uploads/{file}/{number}", "put", 503, "Try again.");
    parts.set(number, body.length);
    return described("/v1/uploads/{file}/{number}", "put", 200, { part: number, etag: `tag ${number}` });
  }

  server = await serve(async ({ pathname, searchParams }, request, response) => {
    if (request.method === "POST" || request.method === "PUT") {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const [name, body] = [searchParams.get("name"), Buffer.concat(chunks)];
      return pathname.startsWith("/v1/uploads/") ? uploadInParts(request.method, pathname, name, body) : uploaded(name);
    }
    if (pathname === "/c/drawings") return page("collection", "Drawings – Edgezoom", { ...collection.page(), logo: "", owner: await fill("collection_owner", {}) });
    if (pathname === "/c/drawings/embed") return page("collection", "Drawings – Edgezoom", { ...collection.page(), logo: "", owner: "", base: `<base target="_blank">` }, { framed: true });
    if (pathname.startsWith("/v1/collections/drawings")) return collection.answer(pathname, searchParams, request);
    if (down && pathname.startsWith("/v1/")) return { status: 503, headers: CORS };
    if (request.method === "DELETE") return deleted(pathname.split("/").at(-1), request.headers.authorization);
    if (states.get(pathname.slice(1))?.kind === "deleted") {
      const text = "This content was deleted by its owner.";
      return { ...(await page("notice", "Deleted – Edgezoom", { title: "Deleted", text })), status: 410 };
    }
    const [, id, rest] = /^\/([0-9A-Za-z]{11})(\.js|\/embed|\/thumbnail\.jpg|\/preview\.jpg|\/at\/[\d.,]+\.jpg)?$/.exec(pathname) ?? [];
    if (/^\/[^/]+\.js$/.test(pathname)) return { type: TYPES.js, headers: CORS, body: await readFile(at("../embed/loader.js")) };
    if (id && states.has(id) && !rest?.endsWith(".jpg")) return contentPage(rest ? "embed" : "share", id);
    if (pathname === "/") {
      const entered = searchParams.get("url") ?? "";
      const problem = entered.startsWith("ftp:") ? `<p class="problem" id="problem" role="alert">The URL must begin with http:// or https://.</p>` : "";
      const described = problem && ' aria-describedby="problem" aria-invalid="true"';
      if (!entered || problem) return page("home", "Edgezoom", { entered, described, problem });
      const assumption = /^https?:/.test(entered) ? "" : "?assumed=https";
      return { status: 302, headers: { Location: `/${[...states.keys()].at(-1)}${assumption}` } };
    }
    if (pathname === "/v1/content/") {
      const [found] = [...states].find(([, { url }]) => url === searchParams.get("url")) ?? [];
      return found ? { status: 301, headers: { Location: `/v1/content/${found}`, ...CORS } } : plain("/v1/content/", "get", 503, "Try again.");
    }
    if (pathname === "/docs" || pathname === "/bot") return { ...(await asset(`${pathname}.html`)), headers: { "Content-Security-Policy": DOCS_POLICY } };
    if (pathname.startsWith("/assets/")) return asset(pathname);
    if (pathname.endsWith("/download")) return { type: "application/zip", headers: { "Content-Length": "12345678" } };
    if (id && rest?.endsWith(".jpg")) return tile(`/${id}/1_files/9/0_0.png`);
    const [content, part] = pathname.replace("/v1/content/", "").split("/");
    const again = searchParams.get("retry") === "1" && states.get(content)?.again;
    if (again) states.set(content, { ...again, url: states.get(content).url });
    if (states.get(content)?.text && part === "text") return { type: TYPES.json, headers: CORS, body: JSON.stringify(states.get(content).text) };
    if (states.has(content)) return part ? subscribe(content, response) : contentResponse(content);
    if (pathname.startsWith("/v1/")) return { status: 404, headers: CORS };
    if (id && !rest) return { ...(await page("notice", "Not found – Edgezoom", { title: "Not found", text: "There is no picture at this address." })), status: 404 };
    if (pathname.startsWith("/cache/")) {
      const { size, text, vector } = states.get(pathname.split("/")[2]) ?? {};
      const [, page] = /_files\/vector\/(pages\.json|\d+\.svg)$/.exec(pathname) ?? [];
      if (page) return vectorFile(vector, page);
      if (pathname.endsWith(".dzi")) return { headers: { "Last-Modified": "Sun, 22 Nov 2026 09:30:00 GMT", ...CORS } };
      return pathname.includes("_coarse/") ? coarsePicture(Number(/(\d)\.jpg$/.exec(pathname)[1]), size) : tile(pathname, size, text);
    }
  });

  const fake = {
    ...server,
    /** Makes the next attempts to upload a second part fail. */
    breakParts(times) {
      broken = times;
    },
    parts,
    collection,
    /**
     * Creates a content and returns its id. Its state has a `kind` (`processing`, `ready` or `failed`), members of the
     * content object (`url`, `progress`, `stage`, `retry`, `failure`, `title`, `options`, `credits`, `warning`, `scale`), the `size` of
     * the picture, its `text`, whose words are drawn, its pages as `vector` (`{ x, y, width, height, svg }` each), the number of
     * the `coarse` picture, and the state after a retry, `again`.
     */
    create(state) {
      const id = `Content${String(states.size).padStart(4, "0")}`;
      states.set(id, { url: `https://example.com/maps/old%20town.jpg?${id}`, ...state });
      return id;
    },
    ready: () => fake.create({ kind: "ready" }),
    failed: () => fake.create({ kind: "failed" }),
    /** Creates a content that is being converted: `{ id, report(change), finish() }`. */
    slow(state) {
      const id = fake.create({ kind: "processing", stage: "downloading", progress: 0.1, ...state });
      return { id, report: (change) => fake.set(id, change), finish: () => fake.set(id, { kind: "ready" }) };
    },
    set(id, state) {
      states.set(id, { ...states.get(id), ...state });
      publish(id);
    },
    takeDown(isDown) {
      down = isDown;
      if (down) [...listeners.values()].flat().forEach((response) => response.destroy());
    },
  };
  return fake;
}

/** Returns the home page's examples, as in the Worker. */
async function examples() {
  const source = await readFile(at("../../src/pages/home.rs"), "utf8");
  const found = [...source.matchAll(/\(\s*"([^"]+)",\s*"([^"]+)",\s*"(https:[^"]+)",?\s*\)/g)];
  const link = ([, name, kind, url]) => `<li><a href="/?url=${encodeURIComponent(url)}"><b>${name}</b><span>${kind}</span></a></li>`;
  return found.map(link).join("\n");
}

/** Fills a page's template like the Worker. */
async function fill(name, values) {
  const template = await readFile(at(`../pages/${name}.html`), "utf8");
  return template.replace(/\{(\w+)\}/g, (_, key) => {
    if (!(key in values)) throw new Error(`${name}.html needs a value for {${key}}`);
    return values[key];
  });
}

async function asset(path) {
  const body = await readFile(at(`../../build/assets${path}`)).catch(() => null);
  return body && { type: TYPES[path.split(".").pop()], headers: { ...CORS, "Cache-Control": "public, max-age=300" }, body };
}

/** Returns a coarse picture, of which a number of fifths is rendered. */
function coarsePicture(fifths, { width, height } = SIZE) {
  const body = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 5 5" preserveAspectRatio="none" width="${width / 10}" height="${height / 10}">
    <rect width="5" height="5" fill="#9a9"/><rect width="5" height="${fifths}" fill="#263"/></svg>`;
  return { type: TYPES.svg, headers: CORS, body };
}

function tile(path, size = SIZE, text = null) {
  const [, level, column, row] = /_files\/(\d+)\/(\d+)_(\d+)\./.exec(path) ?? [];
  if (!level) return null;
  const scale = 2 ** (Math.ceil(Math.log2(Math.max(size.width, size.height))) - level);
  const side = (length, index) => Math.min(TILE_SIZE, Math.ceil(length / scale) - index * TILE_SIZE);
  const [width, height] = [side(size.width, Number(column)), side(size.height, Number(row))];
  const hue = (level * 40 + column * 25 + row * 50) % 360;
  const body = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <linearGradient id="g" x2="1" y2="1"><stop stop-color="hsl(${hue} 60% 65%)"/>
    <stop offset="1" stop-color="hsl(${hue} 60% 35%)"/></linearGradient>
    <rect width="100%" height="100%" fill="url(#g)"/>
    <text x="50%" y="50%" fill="#fff" font-size="24" text-anchor="middle">${level}/${column}_${row}</text>
    ${text ? `<g transform="scale(${1 / scale}) translate(${-column * TILE_SIZE * scale} ${-row * TILE_SIZE * scale})">${drawing(text)}</g>` : ""}</svg>`;
  return { type: TYPES.svg, headers: CORS, body };
}

/** Returns the places of pages that are vectors, or one of these. */
function vectorFile(pages, name) {
  if (name.endsWith(".svg")) return { type: TYPES.svg, headers: CORS, body: pages[parseInt(name, 10)].svg };
  const list = { pages: pages.map((page, number) => page && { ...page, svg: undefined, url: `${number}.svg` }) };
  return { type: TYPES.json, headers: CORS, body: JSON.stringify(list) };
}

/** Returns the pages of a text as SVG, with each word in its place. */
function drawing({ pages }) {
  const word = (text, x, y, width, height) =>
    `<text x="${x}" y="${y + height * 0.8}" font-size="${height * 0.9}" textLength="${width}" lengthAdjust="spacingAndGlyphs">${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>`;
  const line = ({ at: [x, y, width, height], text, spans = [], angle = 0 }) => {
    const [along, thick] = angle === 90 ? [height, width] : [width, height];
    let place = 0;
    const words = spans.length === 0 ? word(text, 0, 0, along, thick) : text.split(" ").map((one, index) => {
      place += spans[2 * index];
      const drawn = word(one, place, 0, spans[2 * index + 1], thick);
      place += spans[2 * index + 1];
      return drawn;
    }).join("");
    return `<g transform="translate(${angle === 90 ? x + width : x} ${y}) rotate(${angle})">${words}</g>`;
  };
  return pages.map(({ at: [x, y, width, height], blocks = [] }) => `<g transform="translate(${x} ${y})" font-family="sans-serif">
    <rect width="${width}" height="${height}" fill="#fff"/>${blocks.flatMap(({ lines = [] }) => lines.map(line)).join("")}</g>`).join("");
}
