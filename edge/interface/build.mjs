// Publishes the interface's description: `/openapi.json` as it is, and `/docs`, a page of it for people in the frame of all
// pages, which loads nothing from other origins; and `/bot`, which tells publishers what visited them. They become static files beside the viewer, so that they add nothing to
// the size of the Worker.

import { mkdir, readFile, writeFile } from "node:fs/promises";

import { exampleOf, samples, sending } from "./samples.mjs";

const read = (name) => readFile(new URL(name, import.meta.url), "utf8");
const description = await read("openapi.json");
const { info, paths, components } = JSON.parse(description);
const to = new URL("../build/assets/", import.meta.url);

const escape = (text) => String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const prose = (text = "") => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");
const resolved = ({ $ref, ...own }) => ($ref ? components[$ref.split("/")[2]][$ref.split("/")[3]] : own);
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

function type({ $ref, type: name, enum: values, oneOf, const: only, minimum, maximum, maxLength }) {
  const schema = $ref?.split("/").at(-1);
  if (schema) return `<a href="#${escape(schema)}">${escape(schema)}</a>`;
  if (oneOf) return oneOf.map(type).join(" or ");
  if (values) return values.map((value) => `<code>${escape(value)}</code>`).join(", ");
  if (only !== undefined) return `<code>${escape(only)}</code>`;
  const limits = [minimum !== undefined && `from ${minimum}`, maximum !== undefined && `to ${maximum}`];
  return [escape(name ?? ""), ...limits, maxLength && `at most ${maxLength} characters`].filter(Boolean).join(", ");
}

const row = (cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>\n`;
/** A table that keyboards can scroll where it is wider than the window. */
const table = (name, heads, rows) =>
  rows.length === 0
    ? ""
    : `<div class="wide" role="region" tabindex="0" aria-label="${escape(name)}"><table>\n<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead>\n<tbody>\n${rows.join("")}</tbody>\n</table></div>\n`;
const code = (label, text) => `<pre tabindex="0" aria-label="${escape(label)}"><code>${escape(text)}</code></pre>\n`;

const anchor = (operation) => operation.operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** All operations: `[[method, path, operation], …]`. */
const operations = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, of]) => [method.toUpperCase(), path, of]));

/** The programs that send the example of a request, and its answer. */
function example(method, path, { summary, responses, parameters = [] }) {
  const [status, { content = {} }] = Object.entries(responses).find(([, { content }]) => Object.values(content ?? {}).some(({ example }) => example)) ?? Object.entries(responses)[0];
  const [kind, { example } = {}] = Object.entries(content)[0] ?? [];
  const address = exampleOf(path, parameters.map(resolved), components.schemas.Id.example);
  const sent = method === "GET" ? samples(path, address, kind) : sending(method, path, address);
  const programs = sent.map(([language, text]) => `<div><h4>${language}</h4>\n${code(`${summary}: ${language}`, text)}</div>\n`);
  const answer = typeof example === "string" ? example : example && JSON.stringify(example, null, 2);
  const answered = answer ? `<h4>Answer: ${status}, <code>${escape(kind)}</code></h4>\n${code(`${summary}: the answer`, answer.trimEnd())}` : "";
  return `<div class="programs">\n${programs.join("")}</div>\n${answered}`;
}

function operation([method, path, of]) {
  const parameters = (of.parameters ?? []).map(resolved).map(({ name, in: place, required, schema, description }) =>
    row([`<code>${escape(name)}</code>`, `${place}${required ? ", required" : ""}`, type(schema), prose(description)]),
  );
  const responses = Object.entries(of.responses).map(([status, { description, content = {} }]) =>
    row([status, prose(description), Object.keys(content).map(escape).join("<br>")]),
  );
  return `<section id="${anchor(of)}" class="operation">\n<h3>${prose(of.summary)}</h3>\n<p class="path"><code>${method} ${escape(path)}</code></p>\n<p>${prose(of.description)}</p>\n${example(method, path, of)}${table(
    `Parameters of ${method} ${path}`,
    ["Parameter", "Where", "Value", "Meaning"],
    parameters,
  )}${table(`Answers of ${method} ${path}`, ["Status", "Meaning", "Form"], responses)}</section>\n`;
}

function schema([name, { properties = {}, required = [], ...own }]) {
  const fields = Object.entries(properties).map(([field, of]) =>
    row([`<code>${escape(field)}</code>`, required.includes(field) ? "always" : "", type(of), prose(of.description)]),
  );
  const itself = fields.length === 0 ? `<p>${type(own)} <code>${escape(own.pattern ?? "")}</code></p>\n` : "";
  return `<section id="${escape(name)}" class="operation">\n<h3>${escape(name)}</h3>\n<p>${prose(own.description)}</p>\n${itself}${table(
    `Fields of ${name}`,
    ["Field", "Present", "Value", "Meaning"],
    fields,
  )}</section>\n`;
}

/** The limits that people ask for, as `docs/limits.md` has them. */
async function limits() {
  const shown = ["a source's bytes", "a picture's pixels", "a picture's side", "a PDF's pages", "a web page's height", "a source's URL"];
  const rows = (await read("../../docs/limits.md")).split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return shown.map((what) => {
    const found = rows.find(([, name]) => name === what);
    if (!found) throw new Error(`docs/limits.md has no limit of ${what}`);
    return row([escape(what.replace(/^an? /, (article) => article[0].toUpperCase() + article.slice(1))), prose(found[2])]);
  }).join("");
}

const entry = (id, text, more = "") => `<li><a href="#${id}">${text}</a>${more}</li>\n`;
const inner = (entries) => `<ul>\n${entries.join("")}</ul>\n`;
const headings = (html) => [...html.matchAll(/<h3 id="(\w+)">([^<]+)<\/h3>/g)].map(([, id, text]) => entry(id, text));

const { repository } = /^repository = "(?<repository>[^"]+)"/m.exec(await read("../../Cargo.toml")).groups;
const people = fill(await read("guide.html"), { limits: await limits() });
const operators = fill(await read("operators.html"), { repository });
const contents = inner([
  entry("people", "For people", inner(headings(people))),
  entry("programs", "For programs", inner([...operations.map(([, , of]) => entry(anchor(of), prose(of.summary))), ...Object.keys(components.schemas).map((name) => entry(name, name))])),
  entry("operators", "For operators"),
]);
const body = fill(await read("docs.html"), {
  contents,
  people,
  operators,
  introduction: `${prose(info.summary)} ${prose(info.description)}`,
  operations: operations.map(operation).join(""),
  schemas: Object.entries(components.schemas).map(schema).join(""),
});
const summary = "How to share, embed and ask for zoomable pictures: for people, for programs with curl, JavaScript and Python, and for operators.";
const frame = await read("../viewer/pages/frame.html");
const page = (name, about, content) => fill(frame, {
  title: `${escape(name)} – ${escape(info.title)}`,
  icon: "/assets/icon.svg",
  styles: "/assets/page.css",
  assets: "/assets",
  head: `<meta name="description" content="${about}">\n<link rel="stylesheet" href="/assets/docs.css">\n`,
  body: content,
});
const [, product] = /^pub const PRODUCT: &str = "(\w+)";$/m.exec(await read("../../tiler/src/bot/user_agent.rs"));
const bot = fill(await read("bot.html"), { product, repository });
const aboutBot = "What visited your site, how to exclude it, and how to reach its operator.";

await mkdir(new URL("assets/", to), { recursive: true });
await writeFile(new URL("openapi.json", to), description);
await writeFile(new URL("docs.html", to), page("Documentation", summary, body));
await writeFile(new URL("bot.html", to), page("Why Edgezoom visited your site", aboutBot, bot));
await writeFile(new URL("assets/docs.css", to), await read("docs.css"));
