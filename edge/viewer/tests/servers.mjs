// Small servers on loopback. Each has a port, and therefore an origin, of its own.

import { createServer } from "node:http";

/** Starts a server. `answer(url, request, response)` returns `{ status, type, headers, body }`, or nothing for 404. */
export async function serve(answer) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, `http://${request.headers.host}`);
    let given;
    try {
      given = await answer(url, request, response);
    } catch (error) {
      if (request.destroyed && !request.complete) return; // The client has left amid its upload.
      throw error;
    }
    if (response.headersSent || response.destroyed) return;
    given ??= { status: 404, type: "text/plain", body: "Nothing here." };
    const { status = 200, type = "text/html; charset=utf-8", headers = {}, body = "" } = given;
    response.writeHead(status, { "Content-Type": type, "Cache-Control": "no-store", ...headers });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts another site, whose pages tests add. */
export async function startHost() {
  const pages = new Map();
  const server = await serve(({ pathname }) => pages.get(pathname));
  return {
    ...server,
    /** Adds a file. */
    file: (path, type, body) => void pages.set(path, { type, body }),
    /** Adds a page and returns its URL. */
    put(body, { policy, isolated } = {}) {
      const path = `/page-${pages.size}`;
      const headers = {
        ...(policy && { "Content-Security-Policy": policy }),
        ...(isolated && { "Cross-Origin-Embedder-Policy": "require-corp", "Cross-Origin-Opener-Policy": "same-origin" }),
      };
      const frame = `<!doctype html><html lang="en"><head><title>A site</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <link rel="icon" href="data:,"></head><body><main><h1>A site</h1>${body}</main></body></html>`;
      pages.set(path, { body: frame, headers });
      return server.origin + path;
    },
  };
}
