// The OpenAPI document with the examples that follow from others: the events of a content contain the content.

import { readFile } from "node:fs/promises";

/** Returns the document. */
export async function readDocument() {
  const api = JSON.parse(await readFile(new URL("openapi.json", import.meta.url), "utf8"));
  const content = api.paths["/v1/content/{id}"].get.responses[200].content["application/json"].example;
  const events = api.paths["/v1/content/{id}/events"].get.responses[200].content["text/event-stream"];
  events.example = `id: finished\ndata: ${JSON.stringify(content)}\n\n`;
  return api;
}
