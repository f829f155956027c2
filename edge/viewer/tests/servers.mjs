// Small servers on loopback, each on a port of its own, so that origins are as foreign to each other as in the wild.

import { createServer } from "node:http";

/** Starts a server; `answer(url, request)` gives `{ status, type, headers, body }` or nothing for 404. */
export async function serve(answer) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, `http://${request.headers.host}`);
    const given = (await answer(url, request, response)) ?? { status: 404, type: "text/plain", body: "Nothing here." };
    if (response.headersSent || response.destroyed) return;
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

/** Another site: pages that tests put there. */
export async function startHost() {
  const pages = new Map();
  const server = await serve(({ pathname }) => pages.get(pathname));
  return {
    ...server,
    /** Puts a file there. */
    file: (path, type, body) => void pages.set(path, { type, body }),
    /** Puts a page there and gives its address. */
    put(body, { policy } = {}) {
      const path = `/page-${pages.size}`;
      const headers = policy ? { "Content-Security-Policy": policy } : {};
      const frame = `<!doctype html><html lang="en"><head><title>A site</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <link rel="icon" href="data:,"></head><body><main><h1>A site</h1>${body}</main></body></html>`;
      pages.set(path, { body: frame, headers });
      return server.origin + path;
    },
  };
}
