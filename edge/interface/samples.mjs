// A request of the interface as a reader would send it: with curl, JavaScript and Python. The answers beside them are the
// examples of `openapi.json`; `edge/tests/openapi.test.mjs` compares those with what the Worker says.

/** The values that stand in the examples. Parameters that are not here are left out. */
export const EXAMPLE = {
  id: "{id}",
  url: "https://example.com/city.jpg",
  attempt: "1",
  level: "9",
  column: "0",
  row: "0",
  region: "0,0,512,512",
  size: "512,512",
  rotation: "0",
  quality: "default",
  format: "jpg",
};
const BASE = "https://zoom.example";

/** The address of the example of a path: `{ address, query }`, with the id of the example's content. */
export function exampleOf(path, parameters, id) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => (name === "id" ? id : EXAMPLE[name]));
  const query = new URLSearchParams();
  for (const { name, in: place, required } of parameters) {
    if (place === "query" && required) query.set(name, path === "/oembed" ? `${BASE}/${id}` : EXAMPLE[name]);
  }
  return BASE + filled + (query.size > 0 ? `?${query}` : "");
}

/** The programs that send a request: `[[language, text], …]`. `kind` is the media type of the answer. */
export function samples(path, address, kind) {
  if (kind === "text/html") return [["Link", `<a href="${address}">Look closer</a>`]];
  if (path.endsWith(".js") && !path.startsWith("/v1/")) return [["HTML", `<script src="${address}?width=auto&height=400px"></script>`]];
  if (kind === "text/event-stream") {
    return [
      ["curl", `curl -N '${address}'`],
      ["JavaScript", `const events = new EventSource("${address}");\nevents.onmessage = ({ data, lastEventId }) => {\n  console.log(JSON.parse(data).progress);\n  if (lastEventId === "finished") events.close();\n};`],
      ["Python", `import json, urllib.request\n\nfor line in urllib.request.urlopen("${address}"):\n    if line.startswith(b"data: "):\n        print(json.loads(line[6:])["progress"])`],
    ];
  }
  if (kind?.startsWith("image/")) {
    const name = path.split("/").at(-1).split(".").at(-1) === "jpg" ? "preview.jpg" : "tile.jpg";
    return [
      ["curl", `curl -o ${name} '${address}'`],
      ["JavaScript", `document.querySelector("img").src = "${address}";`],
      ["Python", `import urllib.request\n\nurllib.request.urlretrieve("${address}", "${name}")`],
    ];
  }
  const read = kind?.endsWith("json") ? "json" : "text";
  const python = read === "json" ? "print(json.load(response))" : "print(response.read().decode())";
  return [
    ["curl", `curl '${address}'`],
    ["JavaScript", `const response = await fetch("${address}");\nconsole.log(await response.${read}());`],
    ["Python", `import ${read === "json" ? "json, " : ""}urllib.request\n\nwith urllib.request.urlopen("${address}") as response:\n    ${python}`],
  ];
}
