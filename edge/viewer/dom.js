// Creates elements in one expression, from attributes and text, never from HTML: no text of a source can become markup,
// and the Content-Security-Policy and Trusted Types of the embedding page allow it.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick: …`) and children; an attribute that is null or false is left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** An icon of 24 × 24 units, drawn as lines in the colour of the text. Screen readers skip it. */
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** The element's shadow root, made on first use, with a style sheet that neither leaks out nor needs `unsafe-inline`. */
export function shadow(host, css) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  return root;
}
