// WebKitGTK's MiniBrowser, by WebDriver (https://www.w3.org/TR/webdriver2/), on a display of its own: it has no
// headless mode.

import { createServer } from "node:net";

import { PATIENCE_MS } from "../../../tests/patience.mjs";
import { assertEventually } from "../browser.mjs";
import { expressionOf, startProcess } from "./process.mjs";

const MINI_BROWSER = ["x86_64", "aarch64"].map((machine) => `/usr/lib/${machine}-linux-gnu/webkit2gtk-4.1/MiniBrowser`);

/** Starts WebKit. `dark` sets the colour scheme that pages see. */
export async function startWebKit({ dark = false } = {}) {
  const screen = ["-displayfd", "3", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"];
  const display = await startProcess("Xvfb", screen, { stream: 3, ready: /(\d+)\n/ });
  const port = await freePort();
  const env = { DISPLAY: `:${display.match[1]}`, GDK_BACKEND: "x11", GTK_THEME: dark ? "Adwaita:dark" : "Adwaita" };
  const driver = await startDriver(port, env);
  const call = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}/session${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  const binary = MINI_BROWSER[process.arch === "arm64" ? 1 : 0];
  const browser = { "webkitgtk:browserOptions": { binary, args: ["--automation"] } };
  let session = null;
  let size = null;
  async function begin() {
    const capabilities = { alwaysMatch: { ...browser, timeouts: { script: PATIENCE_MS } } };
    session = (await call("POST", "", { capabilities })).sessionId;
    if (size) await resize(...size);
  }
  /** Sends a command. After a crash of the browser the next command begins a session, so that a crash costs two tests. */
  async function command(method, path, body) {
    if (!session) await begin();
    return call(method, `/${session}${path}`, body).catch((error) => {
      if (error.message.startsWith("invalid session id")) session = null;
      throw error;
    });
  }
  const evaluate = async (script, ...args) =>
    JSON.parse(await command("POST", "/execute/sync", { script: `return ${expressionOf(script, args)}`, args: [] }));
  /** Sets the size of the page. The window has a toolbar, and is at least 447 pixels wide. */
  async function resize(width, height) {
    size = [width, height];
    const [across, down] = await evaluate(() => [outerWidth - innerWidth, outerHeight - innerHeight]);
    await command("POST", "/window/rect", { x: 0, y: 0, width: width + across, height: height + down });
  }
  return {
    wrongs: [], // WebDriver does not report them
    open: (url) => command("POST", "/url", { url }),
    evaluate,
    act: (...actions) => command("POST", "/actions", { actions }),
    resize,
    screenshot: async () => Buffer.from(await command("GET", "/screenshot"), "base64"),
    async close() {
      if (session) await call("DELETE", `/${session}`);
      await Promise.all([driver.stop(), display.stop()]);
    },
  };
}

/** Starts the driver, and waits until it answers: it prints nothing. */
async function startDriver(port, env) {
  const driver = await startProcess("WebKitWebDriver", [`--port=${port}`], { env });
  const answers = async () => (await fetch(`http://127.0.0.1:${port}/status`).catch(() => null))?.ok;
  await assertEventually(answers, "WebKitWebDriver does not start");
  return driver;
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
