// Publishes the interface's description: `/openapi.json` as it is, and `/docs`, a page of it for people, which loads
// nothing from other origins. Both become static files beside the viewer, so that they add nothing to the size of the
// Worker.

import { mkdir, readFile, writeFile } from "node:fs/promises";

const description = await readFile(new URL("openapi.json", import.meta.url), "utf8");
const { info, paths, components } = JSON.parse(description);
const to = new URL("../build/assets/", import.meta.url);

const escape = (text) => String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const prose = (text = "") => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");
const resolved = ({ $ref, ...own }) => ($ref ? components[$ref.split("/")[2]][$ref.split("/")[3]] : own);

function type({ $ref, type, enum: values, oneOf, const: only, minimum, maximum, maxLength }) {
  const name = $ref?.split("/").at(-1);
  if (name) return `<a href="#${escape(name)}">${escape(name)}</a>`;
  if (oneOf) return oneOf.map(type).join(" or ");
  if (values) return values.map((value) => `<code>${escape(value)}</code>`).join(", ");
  if (only !== undefined) return `<code>${escape(only)}</code>`;
  const limits = [minimum !== undefined && `from ${minimum}`, maximum !== undefined && `to ${maximum}`];
  return [type_(type), ...limits, maxLength && `at most ${maxLength} characters`].filter(Boolean).join(", ");
  function type_(name) {
    return escape(name ?? "");
  }
}

const row = (cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>\n`;
/** A table that keyboards can scroll where it is wider than the window. */
const table = (name, heads, rows) =>
  rows.length === 0
    ? ""
    : `<div class="wide" role="region" tabindex="0" aria-label="${escape(name)}"><table>\n<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead>\n<tbody>\n${rows.join("")}</tbody>\n</table></div>\n`;

function operation([path, { get }]) {
  const parameters = (get.parameters ?? []).map(resolved).map(({ name, in: place, required, schema, description }) =>
    row([`<code>${escape(name)}</code>`, `${place}${required ? ", required" : ""}`, type(schema), prose(description)]),
  );
  const responses = Object.entries(get.responses).map(([status, { description, content = {} }]) =>
    row([status, prose(description), Object.keys(content).map(escape).join("<br>")]),
  );
  return `<section>\n<h2><code>GET ${escape(path)}</code></h2>\n<p>${prose(get.summary)}. ${prose(get.description)}</p>\n${table(
    `Parameters of ${path}`,
    ["Parameter", "Where", "Value", "Meaning"],
    parameters,
  )}${table(`Answers of ${path}`, ["Status", "Meaning", "Form"], responses)}</section>\n`;
}

function schema([name, { properties = {}, required = [], ...own }]) {
  const fields = Object.entries(properties).map(([field, of]) =>
    row([`<code>${escape(field)}</code>`, required.includes(field) ? "always" : "", type(of), prose(of.description)]),
  );
  const itself = fields.length === 0 ? `<p>${type(own)} <code>${escape(own.pattern ?? "")}</code></p>\n` : "";
  return `<section id="${escape(name)}">\n<h2>${escape(name)}</h2>\n<p>${prose(own.description)}</p>\n${itself}${table(
    `Fields of ${name}`,
    ["Field", "Present", "Value", "Meaning"],
    fields,
  )}</section>\n`;
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>The interface – ${escape(info.title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/docs.css">
</head>
<body>
<main>
<h1>${escape(info.title)}</h1>
<p>${prose(info.summary)} ${prose(info.description)}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a></p>
${Object.entries(paths).map(operation).join("")}${Object.entries(components.schemas).map(schema).join("")}</main>
</body>
</html>
`;

await mkdir(new URL("assets/", to), { recursive: true });
await writeFile(new URL("openapi.json", to), description);
await writeFile(new URL("docs.html", to), page);
await writeFile(new URL("assets/docs.css", to), await readFile(new URL("docs.css", import.meta.url)));
