// The embed script, `/<id>.js?width=&height=&id=&fit=&background=`. It takes all that it needs from its own address, reserves the
// viewer's place, and imports the viewer when the reader comes near. The browser loads a module once for a page, however many
// scripts import it. It leaves no global behind and never writes into the document's stream.
(() => {
  const script = document.currentScript;
  if (!script) return console.warn("Edgezoom: embed it with a classic script element, not as a module.");

  const address = new URL(script.src);
  const asked = (name) => address.searchParams.get(name);
  const id = address.pathname.split("/").pop().replace(/\.js$/, "");
  const content = new URL(`v1/content/${id}`, address).href;
  const module = new URL("assets/viewer.js", address).href;

  /** A CSS length from `N`, `Npx` or `N%`; from `auto`, `0` and what is none of these: `auto`. */
  function length(text) {
    const [, figure, unit] = /^(\d{1,6})(px|%)?$/.exec(text) ?? [];
    return Number(figure) > 0 ? figure + (unit ?? "px") : "auto";
  }
  /** A colour, with or without the `#` that an address has to escape; none from anything else. */
  function colour(text) {
    return ["#" + text, text].find((value) => CSS.supports("color", value));
  }

  const width = length(asked("width") ?? "auto");
  const height = length(asked("height") ?? "400px");
  const background = colour(asked("background") ?? "");
  const fit = asked("fit") === "cover" ? "cover" : "contain";

  const host = document.createElement("div");
  Object.assign(host.style, {
    display: "block",
    boxSizing: "border-box",
    overflow: "hidden",
    width: width === "auto" ? "100%" : width,
    maxWidth: "100%",
    height,
    // Counts where the height is `auto`, or a part of something that has no height itself.
    aspectRatio: "4 / 3",
    background: background ?? "rgb(127 127 127 / 0.12)",
  });

  /** What is shown where even the viewer could not be loaded. */
  function offerRetry(attempt) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "The picture could not be loaded. Try again";
    Object.assign(button.style, { font: "inherit", padding: "12px 16px", margin: "16px", cursor: "pointer" });
    button.addEventListener("click", () => load(attempt + 1));
    host.replaceChildren(button);
  }

  function load(attempt = 0) {
    // Browsers may remember that a module failed to load: another query is another module.
    import(attempt ? `${module}?again=${attempt}` : module).then(
      ({ embed }) => {
        host.replaceChildren();
        embed(host, content, { fit, background, shaped: height === "auto" });
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
  }

  const target = () => document.getElementById(asked("id") ?? "");
  if (target() || (!asked("id") && document.body?.contains(script))) return put(target());

  // Its place may still be to come: an element further down, or the body. A document that was written and never closed does
  // not come to an end; then a moment has to do.
  let waiting = true;
  function begin() {
    if (!waiting) return;
    waiting = false;
    if (!document.body) document.documentElement.append(document.createElement("body"));
    put(target());
  }
  if (document.readyState !== "loading") return begin();
  document.addEventListener("DOMContentLoaded", begin);
  setTimeout(begin, 2000);
})();
