// Example requests for `/docs`, in curl, JavaScript and Python. The responses beside them are the examples of
// `openapi.json`, which `edge/tests/openapi.test.mjs` compares with the Worker's.

/** Requests that are more than a GET of text, JSON or an image, by `operationId`. */
const SPECIAL = {
  sharePage: (url) => ({ HTML: `<a href="${url}">Look closer</a>` }),
  embedPage: (url) => ({ HTML: `<iframe src="${url}" width="100%" height="400" title="Zoomable picture" allow="fullscreen"></iframe>` }),
  embedScript: (url) => ({ HTML: `<script src="${url}?width=auto&height=400px"></script>` }),
  contentEvents: (url) => ({
    curl: `curl -N '${url}'`,
    JavaScript: `const events = new EventSource("${url}");
events.onmessage = ({ data, lastEventId }) => {
  console.log(JSON.parse(data).progress);
  if (lastEventId === "finished") events.close();
};`,
    Python: `import json, urllib.request

for line in urllib.request.urlopen("${url}"):
    if line.startswith(b"data: "):
        print(json.loads(line[6:])["progress"])`,
  }),
  contentOfFile: (url) => ({
    curl: `curl -F file=@city.jpg '${url}'`,
    JavaScript: `const response = await fetch("${url}?format=json&name=city.jpg", { method: "POST", body: file });
const { shareUrl, deletionKey } = (await response.json()).content;`,
    Python: `import json, urllib.request

headers = {"Content-Type": "image/jpeg"}
with open("city.jpg", "rb") as file:
    request = urllib.request.Request("${url}?name=city.jpg", file.read(), headers)
print(json.load(urllib.request.urlopen(request))["shareUrl"])`,
  }),
  deleteContent: (url) => ({
    curl: `curl -X DELETE -H 'Authorization: Bearer pQx1b0dY5vJpV0Cq7m1ZkR3kq8dYq2n4Hf6sT9uWxAI' '${url}'`,
    JavaScript: `const headers = { Authorization: \`Bearer \${deletionKey}\` };
const { status } = await fetch("${url}", { method: "DELETE", headers });`,
    Python: `import urllib.request

headers = {"Authorization": "Bearer " + deletion_key}
urllib.request.urlopen(urllib.request.Request("${url}", headers=headers, method="DELETE"))`,
  }),
  putCollection: (url) => ({
    curl: `openssl rand -hex 32 > key
expires=$(($(date +%s) + 60))
signature=$(printf '%s\\ncollection:drawings' $expires | openssl dgst -sha256 -hmac "$SIGNING_KEY" -r | cut -c1-64)
curl -X PUT --json '{"title": "Drawings"}' -H "Authorization: Bearer $(cat key)" \\
  "${url}?key=shop&expires=$expires&signature=$signature"`,
  }),
  deleteCollection: (url) => ({ curl: `curl -X DELETE -H "Authorization: Bearer $(cat key)" '${url}'` }),
  sendEntries: (url) => ({
    curl: `curl --data-binary @list.jsonl -H "Authorization: Bearer $(cat key)" '${url}'`,
    Python: `import urllib.request

headers = {"Authorization": "Bearer " + key}
with open("list.jsonl", "rb") as lines:
    request = urllib.request.Request("${url}", lines.read(), headers)
print(urllib.request.urlopen(request).read())`,
  }),
  sendFile: (url) => ({
    curl: `digest=$(openssl dgst -sha256 -binary city.tif | basenc --base64url | tr -d =)
curl --data-binary @city.tif -H 'Content-Type: image/tiff' -H "Authorization: Bearer $(cat key)" \\
  "${url.split("?")[0]}?name=city.tif&digest=$digest"`,
  }),
  listEntries: (url) => ({ curl: `curl -H "Authorization: Bearer $(cat key)" '${url}?state=failed'` }),
  beginFile: (url) => ({
    curl: `curl -X POST '${url}'`,
    JavaScript: `const response = await fetch("${url}", { method: "POST" });
const { address, partBytes } = await response.json();`,
    Python: `import json, urllib.request

upload = json.load(urllib.request.urlopen(urllib.request.Request("${url}", method="POST")))`,
  }),
  sendPart: (url) => ({
    curl: `split -b 8388608 city.tif part-
curl -T part-aa '${url}'`,
    JavaScript: `const parts = [];
for (let start = 0; start < file.size; start += partBytes) {
  const body = file.slice(start, start + partBytes);
  const response = await fetch(\`\${address}/\${parts.length + 1}\`, { method: "PUT", body });
  parts.push((await response.json()).etag);
}`,
    Python: `parts = []
with open("city.tif", "rb") as file:
    while part := file.read(upload["partBytes"]):
        url = f"{upload['address']}/{len(parts) + 1}"
        request = urllib.request.Request(url, part, method="PUT")
        parts.append(json.load(urllib.request.urlopen(request))["etag"])`,
  }),
  finishFile: (url) => ({
    curl: `curl --json '{"parts": ["9b2cf535f27731c974343645a3985328"]}' '${url}?name=city.tif'`,
    JavaScript: `const body = JSON.stringify({ parts });
const response = await fetch(\`\${address}?format=json&name=city.tif\`, { method: "POST", body });
const { shareUrl, deletionKey } = (await response.json()).content;`,
    Python: `url = upload["address"] + "?name=city.tif"
request = urllib.request.Request(url, json.dumps({"parts": parts}).encode())
print(json.load(urllib.request.urlopen(request))["shareUrl"])`,
  }),
};

/** Returns an operation's example requests by language. `mediaType` is that of the response. */
export function samples({ operationId }, url, mediaType = "") {
  if (SPECIAL[operationId]) return SPECIAL[operationId](url);
  if (/^(image|application\/zip)/.test(mediaType)) {
    const name = { preview: "preview.jpg", thumbnail: "thumbnail.jpg", download: "city.szi" }[operationId] ?? "tile.jpg";
    return {
      curl: `curl -o ${name} '${url}'`,
      JavaScript: `const image = await (await fetch("${url}")).blob();`,
      Python: `import urllib.request

urllib.request.urlretrieve("${url}", "${name}")`,
    };
  }
  const isJson = mediaType.endsWith("json");
  return {
    curl: `curl '${url}'`,
    JavaScript: `const response = await fetch("${url}");
console.log(await response.${isJson ? "json" : "text"}());`,
    Python: `import ${isJson ? "json, " : ""}urllib.request

with urllib.request.urlopen("${url}") as response:
    ${isJson ? "print(json.load(response))" : "print(response.read().decode())"}`,
  };
}
