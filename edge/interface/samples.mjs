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
  file: "00112233445566778899aabbccddeeff.AKq1",
  number: "1",
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
    const name = path.split("/").at(-1).endsWith(".jpg") ? path.split("/").at(-1) : "tile.jpg";
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

/** The programs that send a file, or a part of one. */
export function sending(method, path, address) {
  if (path === "/v1/uploads/") {
    return [
      ["curl", `curl -X POST '${address}'`],
      ["JavaScript", `const begun = await fetch("${address}", { method: "POST" });\nconst { address, partBytes } = await begun.json();`],
      ["Python", `import json, urllib.request\n\nbegin = urllib.request.Request("${address}", method="POST")\nfile = json.load(urllib.request.urlopen(begin))`],
    ];
  }
  if (method === "PUT") {
    return [
      ["curl", `split -b 8388608 city.tif part-\ncurl -T part-aa '${address}'`],
      ["JavaScript", `const tags = [];\nfor (let at = 0; at < file.size; at += partBytes) {\n  const response = await fetch(\`\${address}/\${tags.length + 1}\`, {\n    method: "PUT",\n    body: file.slice(at, at + partBytes),\n  });\n  tags.push((await response.json()).etag);\n}`],
      ["Python", `tags = []\nwith open("city.tif", "rb") as source:\n    while part := source.read(file["partBytes"]):\n        target = f"{file['address']}/{len(tags) + 1}"\n        put = urllib.request.Request(target, part, method="PUT")\n        tags.append(json.load(urllib.request.urlopen(put))["etag"])`],
    ];
  }
  if (path.startsWith("/v1/uploads/")) {
    return [
      ["curl", `curl --json '{"parts": ["9b2cf535f27731c974343645a3985328"]}' '${address}?name=city.tif'`],
      ["JavaScript", `const finished = await fetch(\`\${address}?name=city.tif\`, {\n  method: "POST",\n  body: JSON.stringify({ parts: tags }),\n});\nconsole.log((await finished.json()).shareUrl);`],
      ["Python", `finish = urllib.request.Request(file["address"] + "?name=city.tif", json.dumps({"parts": tags}).encode())\nprint(json.load(urllib.request.urlopen(finish))["shareUrl"])`],
    ];
  }
  return [
    ["curl", `curl -F file=@city.jpg '${address}'`],
    ["JavaScript", `const response = await fetch("${address}?name=city.jpg", { method: "POST", body: file });\nconsole.log((await response.json()).shareUrl);`],
    ["Python", `import json, urllib.request\n\nheaders = {"Content-Type": "image/jpeg"}\nwith open("city.jpg", "rb") as file:\n    request = urllib.request.Request("${address}?name=city.jpg", file.read(), headers)\nprint(json.load(urllib.request.urlopen(request))["shareUrl"])`],
  ];
}
