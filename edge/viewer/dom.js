// Creates elements from attributes and text, never from HTML: text of a source cannot become markup, and the
// Content-Security-Policy and Trusted Types of an embedding page allow it.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element with attributes, listeners (`onclick: …`) and children. Null or false attributes are left out. */
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

/** Creates an icon of 24 × 24 units, drawn as lines in the colour of the text. Screen readers skip it. */
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

/** Creates a button that shows an icon, with the key that does the same, if there is one, in its title. */
export function iconButton(label, path, onclick, key) {
  const title = key ? `${label} (${key})` : label;
  return element("button", { type: "button", title, "aria-label": label, "aria-keyshortcuts": key?.replace(" ", ""), onclick }, icon(path));
}

/**
 * Returns the element's shadow root with style sheets, which need no `unsafe-inline`. Creates the root on first use.
 */
export function shadow(host, ...styles) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = styles.map((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
  return root;
}
