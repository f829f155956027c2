// Firefox, by WebDriver BiDi: https://w3c.github.io/webdriver-bidi/. Firefox speaks it itself, so no driver is needed.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expressionOf, profile, startProcess } from "./process.mjs";

/** Starts Firefox. `dark` sets the colour scheme that pages see. */
export async function startFirefox({ dark = false } = {}) {
  const home = await profile();
  const settings = {
    "layout.css.prefers-color-scheme.content-override": dark ? 0 : 1,
    "browser.shell.checkDefaultBrowser": false,
    "remote.events.async.enabled": false,
    "datareporting.policy.dataSubmissionEnabled": false,
    "app.update.enabled": false,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
  };
  const lines = Object.entries(settings).map(([name, value]) => `user_pref("${name}", ${value});\n`);
  await writeFile(join(home.path, "user.js"), lines.join(""));
  const args = ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", home.path];
  const { match, stop } = await startProcess("firefox-esr", args, { env: { MOZ_CRASHREPORTER_DISABLE: "1" }, ready: /WebDriver BiDi listening on (ws:\S+)/ });
  const { call, on, close } = await connect(`${match[1]}/session`);
  await call("session.new", { capabilities: {} });
  const { contexts } = await call("browsingContext.getTree");
  const { context } = contexts[0];
  const wrongs = [];
  await call("session.subscribe", { events: ["log.entryAdded"] });
  on("log.entryAdded", ({ level, text }) => {
    if (level === "error") wrongs.push(text);
  });
  return {
    /** Errors of scripts and policies. */
    wrongs,
    open: (url) => call("browsingContext.navigate", { context, url, wait: "complete" }),
    async evaluate(script, ...args) {
      const { result, exceptionDetails } = await call("script.evaluate", {
        expression: expressionOf(script, args),
        target: { context },
        awaitPromise: true,
      });
      if (exceptionDetails) throw new Error(exceptionDetails.text);
      return JSON.parse(result.value);
    },
    act: (...actions) => call("input.performActions", { context, actions }),
    resize: (width, height) => call("browsingContext.setViewport", { context, viewport: { width, height } }),
    screenshot: async () => Buffer.from((await call("browsingContext.captureScreenshot", { context })).data, "base64"),
    async close() {
      close();
      await stop();
      await home.remove();
    },
  };
}

/** Connects to a BiDi session. Returns `{ call(method, parameters), on(event, listener), close() }`. */
async function connect(address) {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`cannot connect to ${address}`));
  });
  const waiting = new Map();
  const listeners = new Map();
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === "event") return listeners.get(message.method)?.(message.params);
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === "success") resolve(message.result);
    else reject(new Error(`${message.error}: ${message.message}`));
  };
  let count = 0;
  return {
    call(method, params = {}) {
      count += 1;
      const answered = new Promise((resolve, reject) => waiting.set(count, { resolve, reject }));
      socket.send(JSON.stringify({ id: count, method, params }));
      return answered;
    },
    on: (event, listener) => listeners.set(event, listener),
    close: () => socket.close(),
  };
}
