// The embed script, `/<id>.js?width=&height=&id=&fit=&background=&attribution=&at=&page=&q=`. It reads its parameters from
// its own URL, reserves space for the viewer, and imports the viewer when the reader scrolls near. The browser loads that
// module once per page, even for several embeds. The script defines no globals and never writes into the document's
// stream.
(() => {
  const script = document.currentScript;
  if (!script) return console.warn("Edgezoom: use a classic script element, not a module.");

  const url = new URL(script.src);
  const parameter = (name) => url.searchParams.get(name);
  const id = url.pathname.split("/").pop().replace(/\.js$/, "");
  const content = new URL(`v1/content/${id}`, url).href;
  const module = new URL("assets/viewer.js", url).href;

  /** Parses `N`, `Npx` or `N%` as a CSS length; anything else, and 0, is `auto`. */
  function length(text) {
    const [, figure, unit] = /^(\d{1,6})(px|%)?$/.exec(text) ?? [];
    return Number(figure) > 0 ? figure + (unit ?? "px") : "auto";
  }
  /** Parses a CSS colour, with or without the `#`, which URLs have to escape. Returns undefined for anything else. */
  function colour(text) {
    return ["#" + text, text].find((value) => CSS.supports("color", value));
  }

  const width = length(parameter("width") ?? "auto");
  const height = length(parameter("height") ?? "400px");
  const background = colour(parameter("background") ?? "");
  const fit = parameter("fit") === "cover" ? "cover" : "contain";
  const attribution = parameter("attribution") !== "0";

  const host = document.createElement("div");
  Object.assign(host.style, {
    display: "block",
    boxSizing: "border-box",
    overflow: "hidden",
    width: width === "auto" ? "100%" : width,
    maxWidth: "100%",
    height,
    // Applies if the height is `auto`, or a percentage of an element without a height.
    aspectRatio: "4 / 3",
    background: background ?? "rgb(127 127 127 / 0.12)",
  });

  /** Shows a button to retry if the viewer did not load. */
  function offerRetry(attempt) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "The viewer did not load. Try again";
    Object.assign(button.style, { font: "inherit", padding: "12px 16px", margin: "16px", cursor: "pointer" });
    button.addEventListener("click", () => load(attempt + 1));
    host.replaceChildren(button);
  }

  /** Shows the preview on paper. What is requested in another way than this comes after it is printed. */
  function print() {
    const request = new XMLHttpRequest();
    request.open("GET", new URL(`${id}/preview.jpg`, url), false);
    request.overrideMimeType("text/plain; charset=x-user-defined");
    request.send();
    if (request.status !== 200) return;
    const bytes = request.response.replace(/[^]/g, (letter) => String.fromCharCode(letter.charCodeAt() & 255));
    const picture = new Image();
    picture.src = `data:${request.getResponseHeader("Content-Type")};base64,${btoa(bytes)}`;
    Object.assign(picture.style, { width: "100%", height: "100%", objectFit: fit });
    host.replaceChildren(picture);
  }

  function load(attempt = 0) {
    removeEventListener("beforeprint", print);
    // Browsers may cache the failure of a module; with another query it is another module.
    import(attempt ? `${module}?again=${attempt}` : module).then(
      ({ embed }) => {
        host.replaceChildren();
        embed(host, content, { fit, background, attribution, search: url.search, shaped: height === "auto" });
      },
      () => offerRetry(attempt),
    );
  }

  function put(target) {
    if (target) target.append(host);
    else if (document.body?.contains(script)) script.after(host);
    else document.body.append(host);
    const near = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        near.disconnect();
        load();
      },
      { rootMargin: "600px" },
    );
    near.observe(host);
    addEventListener("beforeprint", print, { once: true });
  }

  const named = parameter("id");
  const target = () => document.getElementById(named);
  if (named && !target()) {
    // It may be further down in the document, or made later by a script.
    const waiting = new MutationObserver(() => {
      if (!target()) return;
      waiting.disconnect();
      put(target());
    });
    return waiting.observe(document, { childList: true, subtree: true, attributeFilter: ["id"] });
  }
  if (named || document.body?.contains(script)) return put(named && target());

  // A document that a script opened and never closed does not finish loading, hence the timer.
  let waiting = true;
  function begin() {
    if (!waiting) return;
    waiting = false;
    if (!document.body) document.documentElement.append(document.createElement("body"));
    put();
  }
  if (document.readyState !== "loading") return begin();
  document.addEventListener("DOMContentLoaded", begin);
  setTimeout(begin, 2000);
})();
