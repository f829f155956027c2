// The dialog that says what is known of a ready picture: its source, size and files, and the warning if there is one.

import { element } from "../dom.js";
import { isFile, nameOf } from "../live/words.js";
import { openedBy } from "./dialog.js";

const TITLE = "About this picture";

/** Activates the page's Details button. Returns the function that shows it for a content, and hides it for null. */
export function offerDetails() {
  const button = document.getElementById("open-details");
  let content = null;
  openedBy(button, TITLE, () => details(content));
  return (shown) => {
    content = shown;
    button.hidden = !shown;
    const label = shown?.warning ? `${TITLE}: part of it is missing` : TITLE;
    button.setAttribute("aria-label", label);
    button.title = label;
    button.classList.toggle("warned", Boolean(shown?.warning));
  };
}

function details({ id, url, title, warning, format, dzi, shareUrl }) {
  const { width, height, tileSize, tileOverlap, tileFormat } = dzi;
  const size = `${width.toLocaleString("en")} × ${height.toLocaleString("en")} pixels, ${megapixels(width * height)}`;
  const when = element("dd", {}, "…");
  const rows = [
    ["Title", title],
    ["Source", isFile(url) ? `${nameOf(url)}, a file that was sent` : link(url)],
    ["Format", format],
    ["Size", size],
    ["Converted", when],
    ["Tiles", `${tileFormat === "png" ? "PNG" : "JPEG"}, ${tileSize} pixels and ${tileOverlap} of overlap`],
    ["Deep Zoom Image", link(dzi.url)],
    ["IIIF", tileOverlap === 0 && iiif(shareUrl, id)],
  ];
  whenConverted(dzi.url).then((text) => (when.textContent = text));
  const list = element("dl", { class: "details" });
  for (const [name, value] of rows) {
    if (!value) continue;
    list.append(element("dt", {}, name), value === when ? when : element("dd", {}, value));
  }
  offerDownload(`${shareUrl}/download`, list);
  return [warning ? element("p", { class: "warning", role: "note" }, warning) : null, list].filter(Boolean);
}

/** The addresses for IIIF's clients: of the picture, and of an object that shows it. */
function iiif(shareUrl, id) {
  const base = new URL(`iiif/${id}/`, shareUrl);
  const links = ["info.json", "manifest.json"].map((name) => element("a", { href: new URL(name, base).href }, name));
  return element("span", {}, links[0], ", ", links[1]);
}

const link = (address) => element("a", { href: address, rel: "noopener noreferrer" }, address);

function megapixels(pixels) {
  const millions = pixels / 1e6;
  const digits = millions < 10 ? 1 : 0;
  return `${millions.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits })} megapixels`;
}

/** Adds the whole pyramid as one file to the list, where the store has it as one. */
async function offerDownload(address, list) {
  const answer = await fetch(address, { method: "HEAD" }).catch(() => null);
  if (!answer?.ok) return;
  const megabytes = Number(answer.headers.get("Content-Length")) / 1e6;
  const size = megabytes > 0 ? `, ${megabytes.toLocaleString("en", { maximumFractionDigits: 1 })} MB` : "";
  const file = element("a", { href: address, download: true }, `The whole pyramid as one file${size}`);
  list.append(element("dt", {}, "Download"), element("dd", {}, file));
}

/** The day on which the pyramid was stored: its descriptor is written last. */
async function whenConverted(descriptor) {
  try {
    const modified = (await fetch(descriptor, { method: "HEAD" })).headers.get("Last-Modified");
    const day = { day: "numeric", month: "long", year: "numeric" };
    return modified ? new Date(modified).toLocaleDateString("en-GB", day) : "unknown";
  } catch {
    return "unknown";
  }
}
