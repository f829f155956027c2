// Builds the static pages beside the viewer: `/docs`, from `docs.html` and the OpenAPI document, `/bot`, and
// `/openapi.json`. As assets they add nothing to the size of the Worker. They need no JavaScript and load nothing from
// other origins.

import { mkdir, readFile, writeFile } from "node:fs/promises";

import { readDocument } from "./document.mjs";
import { samples } from "./samples.mjs";

const BASE = "https://zoom.example";
/** The rows of `docs/limits.md` that the guide shows. */
const LIMITS = ["a source's bytes", "a picture's pixels", "a picture's side", "a PDF's pages", "a web page's height", "a source's URL"];

const read = (name) => readFile(new URL(name, import.meta.url), "utf8");
const api = await readDocument();
const { schemas } = api.components;

const escape = (text) => String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
/** Formats a description: text in backticks is code. */
const prose = (text = "") => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
const resolved = (object) => (object.$ref ? object.$ref.slice(2).split("/").reduce((from, name) => from[name], api) : object);

const code = (label, text) => `<pre tabindex="0" aria-label="${escape(label)}"><code>${escape(text)}</code></pre>\n`;
const row = (cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>\n`;
/** Returns a table that the keyboard can scroll if it is wider than the window; without rows, nothing. */
function table(name, heads, rows) {
  if (rows.length === 0) return "";
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  return `<div class="wide" role="region" tabindex="0" aria-label="${escape(name)}"><table>
<thead><tr>${head}</tr></thead>
<tbody>
${rows.map(row).join("")}</tbody>
</table></div>
`;
}

function type({ $ref, type: name, enum: values, oneOf, const: only, minimum, maximum, maxLength }) {
  const schema = $ref?.split("/").at(-1);
  if (schema) return `<a href="#${schema}">${schema}</a>`;
  if (oneOf) return oneOf.map(type).join(" or ");
  if (values ?? only) return [values ?? only].flat().map((value) => `<code>${value}</code>`).join(", ");
  const limits = [minimum !== undefined && `minimum ${minimum}`, maximum !== undefined && `maximum ${maximum}`];
  return [name, ...limits, maxLength && `maximum ${maxLength} characters`].filter(Boolean).join(", ");
}

/** Returns the example URL of a request: its path and required parameters with their examples. */
function exampleUrl(path, parameters) {
  const examples = Object.fromEntries(parameters.map(({ name, schema, example }) => [name, example ?? resolved(schema).example]));
  const required = parameters.filter((parameter) => parameter.in === "query" && parameter.required).map(({ name }) => [name, examples[name]]);
  return BASE + fill(path, examples) + (required.length > 0 ? `?${new URLSearchParams(required)}` : "");
}

/** Returns the first example of a response, as `{ status, mediaType, text }`; without one, the first response. */
function exampleResponse(responses) {
  const all = Object.entries(responses).flatMap(([status, response]) =>
    Object.entries(resolved(response).content ?? {}).map(([mediaType, { example }]) => ({ status, mediaType, example })),
  );
  const { example, ...first } = all.find(({ example }) => example) ?? all[0];
  return { ...first, text: typeof example === "object" ? JSON.stringify(example, null, 2) : example?.trimEnd() };
}

const anchor = ({ operationId }) => operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
);
const ofTag = ({ name }) => operations.filter(({ tags }) => tags.includes(name));

function operation(of) {
  const { method, path, summary, description, responses } = of;
  const parameters = (of.parameters ?? []).map(resolved);
  const { status, mediaType, text } = exampleResponse(responses);
  const requests = Object.entries(samples(of, exampleUrl(path, parameters), mediaType));
  return [
    `<section id="${anchor(of)}" class="operation">\n<h4>${prose(summary)}</h4>\n<p class="path"><code>${method} ${path}</code></p>\n`,
    description ? `<p>${prose(description)}</p>\n` : "",
    table(`Parameters: ${summary}`, ["Parameter", "In", "Type", "Description"], parameters.map(({ name, in: place, required, schema, description }) =>
      [`<code>${name}</code>`, `${place}${required ? ", required" : ""}`, type(schema), prose(description)])),
    ...requests.map(([language, sample]) => `<h5>${language}</h5>\n${code(`${summary}: ${language}`, sample)}`),
    text ? `<h5>Response: ${status}, <code>${mediaType}</code></h5>\n${code(`${summary}: response`, text)}` : "",
    table(`Responses: ${summary}`, ["Status", "Description", "Media types"], Object.entries(responses).map(([status, response]) =>
      [status, prose(resolved(response).description), Object.keys(resolved(response).content ?? {}).map(escape).join("<br>")])),
    "</section>\n",
  ].join("");
}

const tag = (of) => `<h3 id="${slug(of)}">${of.name}</h3>\n<p>${prose(of.description)}</p>\n${ofTag(of).map(operation).join("")}`;
const slug = ({ name }) => name.toLowerCase().replaceAll(" ", "-");

function schema([name, { properties = {}, required = [], description, pattern, ...own }]) {
  const fields = Object.entries(properties).map(([field, of]) =>
    [`<code>${field}</code>`, required.includes(field) ? "always" : "", type(of), prose(of.description)]);
  const form = pattern ? ` <code>${escape(pattern)}</code>` : "";
  const scalar = fields.length === 0 ? `<p>${type(own)}${form}</p>\n` : "";
  return `<section id="${name}" class="operation">\n<h4>${name}</h4>\n<p>${prose(description)}</p>\n${scalar}${table(
    `Fields of ${name}`, ["Field", "Present", "Type", "Description"], fields)}</section>\n`;
}

async function limits() {
  const rows = (await read("../../docs/limits.md")).split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return LIMITS.map((name) => {
    const found = rows.find(([, cell]) => cell === name);
    if (!found) throw new Error(`docs/limits.md has no row “${name}”`);
    return row([escape(name.replace(/^an? (.)/, (_, first) => first.toUpperCase())), prose(found[2])]);
  }).join("");
}

const link = (id, text, entries = []) => `<li><a href="#${id}">${text}</a>${entries.length > 0 ? `<ul>\n${entries.join("")}</ul>` : ""}</li>\n`;
const template = await read("docs.html");
const [guide] = template.split('<section id="api">');
const contents = [
  link("guide", "Guide", [...guide.matchAll(/<h3 id="(\w+)">([^<]+)<\/h3>/g)].map(([, id, text]) => link(id, text))),
  link("api", "API", [
    ...api.tags.map((of) => link(slug(of), of.name, ofTag(of).map((operation) => link(anchor(operation), prose(operation.summary))))),
    link("objects", "Objects", Object.keys(schemas).map((name) => link(name, name))),
  ]),
  link("operators", "For operators"),
];
const { repository } = /^repository = "(?<repository>[^"]+)"/m.exec(await read("../../Cargo.toml")).groups;
const [, product] = /^pub const PRODUCT: &str = "(\w+)";$/m.exec(await read("../../tiler/src/bot.rs"));
const docs = fill(template, {
  contents: `<ul>\n${contents.join("")}</ul>\n`,
  limits: await limits(),
  introduction: prose(api.info.description),
  operations: api.tags.map(tag).join(""),
  schemas: Object.entries(schemas).map(schema).join(""),
  repository,
});
const frame = await read("../viewer/pages/frame.html");
const page = (title, description, body) => fill(frame, {
  title: `${title} – Edgezoom`,
  icon: "/assets/icon.svg",
  styles: "/assets/page.css",
  assets: "/assets",
  head: `<meta name="description" content="${description}">\n<link rel="stylesheet" href="/assets/docs.css">\n`,
  body,
});

const to = new URL("../build/assets/", import.meta.url);
await mkdir(new URL("assets/", to), { recursive: true });
const files = {
  "openapi.json": `${JSON.stringify(api, null, 2)}\n`,
  "docs.html": page("Documentation", "How to create, share and embed zoomable pictures; the API with examples in curl, JavaScript and Python.", docs),
  "bot.html": page("Why Edgezoom visited your site", "What visited your site, how to exclude it, and how to contact its operator.", fill(await read("bot.html"), { product, repository })),
  "assets/docs.css": await read("docs.css"),
};
for (const [name, text] of Object.entries(files)) await writeFile(new URL(name, to), text);
