// The OpenAPI document for tests: its references resolved, with its examples and a check against its schemas.

import assert from "node:assert/strict";
import Ajv from "ajv/dist/2020.js";

import { readDocument } from "../interface/document.mjs";

const source = await readDocument();
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });

function dereferenced(value) {
  if (value?.$ref) return dereferenced(value.$ref.slice(2).split("/").reduce((from, name) => from[name], source));
  if (Array.isArray(value)) return value.map(dereferenced);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, dereferenced(inner)]));
}

export const { paths, components } = dereferenced(source);

/** Returns a copy of the example of a response. */
export function example(path, method, status, mediaType = "application/json") {
  return structuredClone(paths[path][method].responses[status].content[mediaType].example);
}

/** Fails if a value does not match a schema of the document. */
export function assertMatches(schema, value, message) {
  const validate = ajv.compile(schema); // compiled once per schema
  assert.ok(validate(value), `${message}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
}
