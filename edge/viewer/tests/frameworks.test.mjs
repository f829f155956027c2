// Embeds in pages that frameworks make, with their real packages: the frame as the Share dialog writes it, which survives
// hydration and changes of the page, and the script where a library inserts HTML.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";

import { build, transform } from "esbuild";

import { painted } from "./browser.mjs";
import { host, open, openEmpty, page, ready, service, setUp } from "./site.mjs";

const require = createRequire(import.meta.url);

/** The frame as the Share dialog writes it. */
let frame;
setUp(async () => {
  await open(`/${ready}`);
  await painted(page);
  await page.getByRole("button", { name: "Share" }).click();
  frame = await page.getByLabel("Embed as a frame", { exact: true }).inputValue();
  for (const [path, file] of [["/vue.js", "vue/dist/vue.global.js"], ["/jquery.js", "jquery/dist/jquery.js"]]) {
    host.file(path, "text/javascript", await readFile(require.resolve(file)));
  }
});

/** A component of React around the frame, as people paste it. */
const component = () => `
  import { useState } from "react";
  export function Page() {
    const [count, setCount] = useState(0);
    return <article><button onClick={() => setCount(count + 1)}>{"Clicks: " + count}</button>{count % 2 === 0 && <p>Even</p>}${frame}</article>;
  }`;

/** Adds a script of React to the site: the component, and what shows it. */
async function addReact(path, code) {
  const define = { "process.env.NODE_ENV": '"development"' };
  const stdin = { contents: component() + code, loader: "jsx", resolveDir: import.meta.dirname };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, jsx: "automatic", define, logLevel: "error" });
  host.file(path, "text/javascript", outputFiles[0].text);
}

/** Opens a page with this body, and fails if its frame does not show the picture, or is another one after a change. */
async function assertStays(body) {
  await openEmpty();
  await page.goto(host.put(body));
  const scope = page.frameLocator("iframe");
  await painted(page, scope);
  await scope.locator("body").evaluate(() => (window.name = "the same"));
  const button = page.getByRole("button", { name: "Clicks: " });
  for (const clicks of [1, 2]) {
    await button.click();
    await page.getByText(`Clicks: ${clicks}`).waitFor();
  }
  await painted(page, scope);
  assert.equal(await scope.locator("body").evaluate(() => window.name), "the same", "it was loaded again");
  assert.deepEqual(page.wrongs, []);
}

test("React hydrates a page with a frame that the server has written", async () => {
  const { code } = await transform(component(), { loader: "jsx", format: "cjs", jsx: "automatic" });
  const made = { exports: {} };
  new Function("require", "module", code)(require, made);
  const html = require("react-dom/server").renderToString(require("react").createElement(made.exports.Page));
  await addReact("/hydrated.js", `import { hydrateRoot } from "react-dom/client"; hydrateRoot(document.getElementById("root"), <Page />);`);
  await assertStays(`<div id="root">${html}</div><script src="/hydrated.js"></script>`);
});

test("React shows the frame as JSX", async () => {
  await addReact("/rendered.js", `import { createRoot } from "react-dom/client"; createRoot(document.getElementById("root")).render(<Page />);`);
  await assertStays(`<div id="root"></div><script src="/rendered.js"></script>`);
});

test("Vue shows the frame of a template", async () => {
  await assertStays(`<div id="root"><button @click="count += 1">Clicks: {{ count }}</button><p v-if="count % 2 === 0">Even</p>${frame}</div>
    <script src="/vue.js"></script><script>
    Vue.createApp({ data: () => ({ count: 0 }) }).mount("#root");</script>`);
});

test("a custom element shows the frame in its shadow root", async () => {
  await openEmpty();
  await page.goto(
    host.put(`<script>
      customElements.define("zoomable-picture", class extends HTMLElement {
        connectedCallback() {
          this.attachShadow({ mode: "open" }).innerHTML = ${JSON.stringify(frame)};
        }
      });
    </script><zoomable-picture></zoomable-picture>`),
  );
  await painted(page, page.frameLocator("iframe"));
  assert.deepEqual(page.wrongs, []);
});

test("jQuery's html() runs the script, which finds the element of its `id`", async () => {
  const { embedHtml } = await (await fetch(`${service.origin}/v1/content/${ready}`)).json();
  const script = embedHtml.replace(".js?", ".js?id=here&");
  await openEmpty();
  await page.goto(host.put(`<div id="box"></div><p>after</p><script src="/jquery.js"></script><script>$("#box").html(${JSON.stringify(`<div id="here"></div>${script}`).replaceAll("</", "<\\/")});</script>`));
  await painted(page);
  assert.equal(await page.locator("#here > div").count(), 1);
  assert.deepEqual(page.wrongs, []);
});
