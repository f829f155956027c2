// The service as the browser's side sees it, with the real pages' templates and the real build, and contents whose
// state a test chooses. Tiles are drawings that say which they are.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

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
/** As `_headers` has it. */
const DOCS_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const SIZE = { width: 6000, height: 4000 };
/** The bytes that a file may have which is sent. */
export const MOST_BYTES = 40_000_000;
/** The bytes of a part of a large one. */
const PART_BYTES = 8 << 20;
const TILE = { size: 512, overlap: 0 };

/** Starts it. */
export async function startFakeService() {
  const states = new Map();
  const listeners = new Map();
  let down = false;
  let server;

  const contentObject = (id) => {
    const { origin } = server;
    const { kind, source = `https://example.com/maps/old%20town.jpg`, progress = 0, stage = "queued", failure, size = SIZE, warning, coarse } = states.get(id);
    const common = {
      id,
      url: source,
      ready: kind === "ready",
      failed: kind === "failed",
      progress: kind === "ready" ? 1 : progress,
      shareUrl: `${origin}/${id}`,
      embedHtml: `<script src="${origin}/${id}.js?width=auto&height=400px"></script>`,
    };
    const url = `${origin}/cache/${id}/1.dzi`;
    const drawn = { ...size, tileSize: TILE.size, tileOverlap: TILE.overlap, tileFormat: "png" };
    if (kind === "ready") return { ...common, ...(warning && { warning }), dzi: { url, ...drawn } };
    return kind === "failed" ? { ...common, failure } : { ...common, stage, ...(coarse && { coarseUrl: `${origin}/cache/${id}/1_coarse/${coarse}.jpg` }) };
  };
  const json = (id) => ({
    type: "application/json",
    headers: { "Access-Control-Allow-Origin": "*" },
    body: JSON.stringify(contentObject(id)),
  });

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
      files: await fill("files", { address: `${origin}/v1/content/`, uploads: `${origin}/v1/uploads/`, most: MOST_BYTES }),
    };
    const body = await fill(name, { ...common, ...values });
    const script = { share: "share.js", embed: "share.js", home: "home.js" }[name];
    const head = script ? `<script type="module" src="${asset(script)}"></script>` : "";
    const policy = [
      `default-src 'none'; script-src ${origin}; style-src ${origin}; img-src ${origin} data:; connect-src ${origin}; manifest-src ${origin}`,
      `base-uri 'none'; form-action ${origin}; frame-ancestors ${framed ? "*" : "'none'"}`,
    ].join("; ");
    return { headers: { "Content-Security-Policy": policy }, body: await fill("frame", { ...common, title, head, body }) };
  }
  const contentPage = (name, id) => {
    const { url } = contentObject(id);
    const values = {
      name: url.startsWith("ni:") ? new URL(url).searchParams.get("name") : "old town.jpg",
      origin: url.startsWith("ni:") ? "A file that was sent" : `<a href="${url}" rel="noopener noreferrer">${new URL(url).hostname}</a>`,
      address: `${server.origin}/v1/content/${id}`,
      preview: "",
      warning: `<p id="warning" role="status" hidden></p>`,
      content: JSON.stringify(contentObject(id)).replaceAll("</", "<\\/"),
    };
    return page(name, "old town.jpg – Edgezoom", values, { framed: name === "embed" });
  };

  /** Tells who listens what a content is now. */
  const tell = (id) => {
    for (const response of listeners.get(id) ?? []) response.write(`data: ${JSON.stringify(contentObject(id))}\n\n`);
  };
  function listen(id, response) {
    listeners.set(id, [...(listeners.get(id) ?? []), response]);
    response.writeHead(200, { "Content-Type": "text/event-stream", "Access-Control-Allow-Origin": "*" });
    tell(id);
  }

  /** Takes a file, and converts it within a second. */
  async function receive(request, name) {
    let bytes = 0;
    for await (const chunk of request) bytes += chunk.length;
    return taken(name, bytes);
  }

  function taken(name, bytes) {
    if (name.endsWith(".refused")) return { status: 415, type: "text/plain", body: "Send the file as multipart/form-data." };
    const source = `ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=${encodeURIComponent(name)}`;
    const id = fake.create({ kind: "processing", source, bytes });
    setTimeout(() => fake.set(id, { stage: "rendering", progress: 0.5 }), 200);
    setTimeout(() => fake.set(id, { kind: "ready" }), 700);
    return { status: 301, headers: { Location: `/v1/content/${id}` } };
  }

  /** The bytes of the parts that have come, by their numbers. */
  const parts = new Map();
  let broken = 0;

  /** A step of a file in parts. */
  async function receivePart(request, pathname, name) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const json = (status, value) => ({ status, type: "application/json", body: JSON.stringify(value) });
    if (pathname === "/v1/uploads/") {
      parts.clear();
      return json(201, { address: `${server.origin}/v1/uploads/file`, partBytes: PART_BYTES, mostBytes: MOST_BYTES });
    }
    if (request.method === "POST") {
      const { parts: tags } = JSON.parse(body);
      const complete = tags.length === parts.size && tags.every((tag, at) => tag === `tag ${at + 1}`);
      return complete ? taken(name, [...parts.values()].reduce((sum, length) => sum + length)) : { status: 400, type: "text/plain", body: "The parts do not make a file." };
    }
    const number = Number(pathname.split("/").at(-1));
    if (number === 2 && broken-- > 0) return { status: 503, type: "text/plain", body: "Try again." };
    parts.set(number, body.length);
    return json(200, { part: number, etag: `tag ${number}` });
  }

  server = await serve(async ({ pathname, searchParams }, request, response) => {
    if (pathname.startsWith("/v1/uploads/")) return receivePart(request, pathname, searchParams.get("name"));
    if (request.method === "POST") return receive(request, searchParams.get("name"));
    if (down && pathname.startsWith("/v1/")) return { status: 503, headers: { "Access-Control-Allow-Origin": "*" } };
    const [, id, rest] = /^\/([0-9A-Za-z]{11})(\.js|\/embed|\/thumbnail\.jpg)?$/.exec(pathname) ?? [];
    if (/^\/[^/]+\.js$/.test(pathname)) return { type: TYPES.js, body: await readFile(at("../embed/loader.js")) };
    if (id && states.has(id) && rest !== "/thumbnail.jpg") return contentPage(rest ? "embed" : "share", id);
    if (pathname === "/") {
      const entered = searchParams.get("url") ?? "";
      const problem = entered.startsWith("ftp:") ? `<p class="problem" id="problem" role="alert">The URL must begin with http:// or https://.</p>` : "";
      const described = problem && ' aria-describedby="problem" aria-invalid="true"';
      if (!entered || problem) return page("home", "Edgezoom", { entered, described, problem });
      return { status: 302, headers: { Location: `/${[...states.keys()].at(-1)}` } };
    }
    if (pathname === "/docs" || pathname === "/bot") return { ...(await asset(`${pathname}.html`)), headers: { "Content-Security-Policy": DOCS_POLICY } };
    if (pathname.startsWith("/assets/")) return asset(pathname);
    if (pathname.endsWith("/download")) return { type: "application/zip", headers: { "Content-Length": "12345678" } };
    if (id && rest === "/thumbnail.jpg") return tile(`/${id}/1_files/9/0_0.png`);
    if (pathname === "/v1/content/") {
      return json([...states.keys()].find((each) => contentObject(each).url === searchParams.get("url")));
    }
    const [content, events] = pathname.replace("/v1/content/", "").split("/");
    const again = searchParams.get("retry") === "1" && states.get(content)?.again;
    if (again) states.set(content, again);
    if (states.has(content)) return events ? listen(content, response) : json(content);
    if (pathname.startsWith("/v1/")) return { status: 404, headers: { "Access-Control-Allow-Origin": "*" } };
    if (id && !rest) return { ...(await page("notice", "Not found – Edgezoom", { title: "Not found", text: "There is no picture at this address." })), status: 404 };
    if (pathname.startsWith("/cache/")) {
      const [, , of] = pathname.split("/");
      if (pathname.endsWith(".dzi")) return { headers: { "Last-Modified": "Sun, 22 Nov 2026 09:30:00 GMT", "Access-Control-Allow-Origin": "*" } };
      if (pathname.includes("_coarse/")) return drawn(Number(/(\d)\.jpg$/.exec(pathname)[1]), states.get(of)?.size);
      return tile(pathname, states.get(of)?.size);
    }
  });

  const fake = {
    ...server,
    /** So many attempts to send the second part of a file fail. */
    breakParts(times) {
      broken = times;
    },
    /** What has come of the last file in parts: the bytes by the number of the part. */
    parts,
    /** A content in a state: `{ kind, progress, stage, failure, source, again, size, warning, coarse }`. Gives its id. */
    create(state) {
      const id = `Content${String(states.size).padStart(4, "0")}`;
      states.set(id, { source: `https://example.com/maps/old%20town.jpg?${id}`, ...state });
      return id;
    },
    set(id, state) {
      states.set(id, { ...states.get(id), ...state });
      tell(id);
    },
    takeDown(isDown) {
      down = isDown;
      if (down) [...listeners.values()].flat().forEach((response) => response.destroy());
    },
  };
  return fake;
}

/** The home page's examples, as the Worker has them. */
async function examples() {
  const source = await readFile(at("../../src/pages/home.rs"), "utf8");
  const found = [...source.matchAll(/\(\s*"([^"]+)",\s*"([^"]+)",\s*"(https:[^"]+)",?\s*\)/g)];
  const example = ([, name, kind, url]) => `<li><a href="/?url=${encodeURIComponent(url)}"><b>${name}</b><span>${kind}</span></a></li>`;
  return found.map(example).join("\n");
}

/** A page's template with its values, as the Worker fills it. */
async function fill(name, values) {
  const template = await readFile(at(`../pages/${name}.html`), "utf8");
  return template.replace(/\{(\w+)\}/g, (_, key) => {
    if (!(key in values)) throw new Error(`${name}.html wants {${key}}`);
    return values[key];
  });
}

async function asset(path) {
  const body = await readFile(at(`../../build/assets${path}`)).catch(() => null);
  const headers = { "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300" };
  return body && { type: TYPES[path.split(".").pop()], headers, body };
}

/** A picture of which so many fifths are rendered. */
function drawn(fifths, { width, height } = SIZE) {
  const body = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 5 5" preserveAspectRatio="none" width="${width / 10}" height="${height / 10}">
    <rect width="5" height="5" fill="#9a9"/><rect width="5" height="${fifths}" fill="#263"/></svg>`;
  return { type: TYPES.svg, body };
}

function tile(path, size = SIZE) {
  const [, level, column, row] = /_files\/(\d+)\/(\d+)_(\d+)\./.exec(path) ?? [];
  if (!level) return null;
  const scale = 2 ** (Math.ceil(Math.log2(Math.max(size.width, size.height))) - level);
  const side = (length, index) => {
    const from = Math.max(0, index * TILE.size - TILE.overlap);
    return Math.min((index + 1) * TILE.size + TILE.overlap, Math.ceil(length / scale)) - from;
  };
  const [width, height] = [side(size.width, Number(column)), side(size.height, Number(row))];
  const hue = (level * 40 + column * 25 + row * 50) % 360;
  const body = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <linearGradient id="g" x2="1" y2="1"><stop stop-color="hsl(${hue} 60% 65%)"/>
    <stop offset="1" stop-color="hsl(${hue} 60% 35%)"/></linearGradient>
    <rect width="100%" height="100%" fill="url(#g)"/>
    <text x="50%" y="50%" fill="#fff" font-size="24" text-anchor="middle">${level}/${column}_${row}</text></svg>`;
  return { type: TYPES.svg, body };
}
