// The dialogs of the share page: sharing, and the details of a ready picture.

import { element } from "../dom.js";
import { isFile, nameOf } from "../live/copy.js";
import { rightsLink } from "../zoom/credits.js";
import { scaleWords } from "../zoom/lengths.js";
import { placeText, withParameter, withPlace } from "../zoom/place.js";
import { dropKey, keyOf } from "./deletion_keys.js";
import { forget } from "./recent.js";

const ABOUT = "About this picture";
/** Time that a button says "Copied". */
const COPIED_MS = 2000;

/**
 * Makes a button open a dialog with a title, a Close button and the elements that `contents()` returns. The browser
 * returns the focus to the button when the dialog is closed.
 */
function openDialog(button, title, contents) {
  const name = `dialog-${button.id}`;
  const dialog = element("dialog", { class: "dialog", "aria-labelledby": name });
  button.addEventListener("click", () => {
    const close = element("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close");
    const head = element("div", { class: "row" }, element("h2", { id: name }, title), close);
    dialog.replaceChildren(element("div", { class: "panel" }, head, ...contents().filter(Boolean)));
    dialog.showModal();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // a click outside the panel
  });
  document.body.append(dialog);
}

/**
 * Activates the Share button. `pageInView()` returns the number of a document's page, or 0. Returns a function that shows
 * the button for a content, and hides it for null: failed contents cannot be shared.
 */
export function offerSharing(pageInView) {
  const button = document.getElementById("open-share");
  let content = null;
  const hasCards = button.hasAttribute("data-cards");
  openDialog(button, "Share", () => sharing(content, hasCards, pageInView()));
  return (shown) => {
    content = shown;
    button.hidden = !shown;
  };
}

/** With `hasCards`, the service has cards of places. `page` is the number of a document's page in view, or 0. */
function sharing({ ready, shareUrl, embedHtml }, hasCards, page) {
  const title = attribute(document.querySelector("h1").textContent);
  const words = new URLSearchParams(location.search).get("q") ?? "";
  const place = placeText(location);
  const view = withParameter(withPlace(shareUrl, place), "q", encodeURIComponent(words));
  const lines = element("div", { class: "lines" });
  /** Shows links and embeds, with parameters that open a page or a search. */
  function show(parameters) {
    const query = parameters && `?${parameters}`;
    const script = embedHtml.replace(/\.js\?[^"]*/, parameters ? `$&&${parameters}` : "$&");
    const frame = `<iframe src="${shareUrl}/embed${query}" width="100%" height="400" title="${title}" allow="fullscreen"></iframe>`;
    const texts = [["Link", shareUrl + query], ["Embed", script], ["Embed as a frame", frame]];
    // Without a place the view is the opening view, which the first line opens too.
    if (![shareUrl, texts[0][1]].includes(view)) texts.splice(1, 0, ["Link to this view", view]);
    lines.replaceChildren(...texts.map(copyLine));
  }
  show("");
  const picture = hasCards && place ? `${shareUrl}/at/${place}.jpg` : `${shareUrl}/preview.jpg`;
  return [ready && linkCard(shareUrl, picture), deviceSharing(view), ...startChoices(page, words, place, show), lines];
}

/** Creates the choices to open a page or a search, and this view, as far as there are any. `choose` takes the parameters. */
function startChoices(page, words, place, choose) {
  const parts = [];
  if (page > 1) parts.push([`at page ${page}`, `page=${page}`]);
  if (words) parts.push([`with the search “${words}”`, `q=${encodeURIComponent(words)}`]);
  const [label, parameters] = [0, 1].map((part) => parts.map((both) => both[part]));
  const starts = [[label.join(" "), parameters.join("&")], ["at this view", place && `at=${place}`]].filter(([, parameter]) => parameter);
  const boxes = starts.map(() => element("input", { type: "checkbox", onchange: chosen }));
  function chosen() {
    choose(starts.filter((_, index) => boxes[index].checked).map(([, parameter]) => parameter).join("&"));
  }
  return starts.map(([name], index) => element("label", { class: "choice" }, boxes[index], `Open ${name}`));
}

/** Creates the card that other sites show for the link to the view: a picture, the name and the site. */
function linkCard(shareUrl, src) {
  const name = document.querySelector("h1").textContent;
  const picture = element("img", { src, alt: "" });
  const words = element("figcaption", {}, element("b", {}, name), element("span", {}, new URL(shareUrl).host));
  return element("figure", { class: "link-card", "aria-label": "How other sites show the link" }, picture, words);
}

const attribute = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

/** Creates a button that opens the device's own sharing, if there is one. */
function deviceSharing(url) {
  if (!navigator.share) return null;
  const share = () => navigator.share({ title: document.title, url }).catch(() => {}); // rejects if the reader cancels
  return element("button", { type: "button", onclick: share }, "Share with an app");
}

function copyLine([label, text], index) {
  const id = `share-${index}`;
  const field = element("input", { id, type: "text", readonly: true, value: text, onfocus: () => field.select() });
  const copy = element("button", { type: "button", "aria-label": `Copy ${label.toLowerCase()}` }, "Copy");
  const status = element("span", { class: "unseen", role: "status" });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
      status.textContent = "Copied";
    } catch {
      field.focus(); // selects the text: there is no clipboard without https
      copy.textContent = "Selected";
    }
    setTimeout(() => {
      copy.textContent = "Copy";
      status.textContent = "";
    }, COPIED_MS);
  });
  const row = element("div", { class: "row" }, field, copy, status);
  return element("div", { class: "line" }, element("label", { for: id }, label), row);
}

/** Activates the Details button. Returns a function that shows it for a content, and hides it for null. */
export function offerDetails() {
  const button = document.getElementById("open-details");
  let content = null;
  openDialog(button, ABOUT, () => details(content));
  return (shown) => {
    content = shown;
    button.hidden = !shown;
    const label = shown?.warning ? `${ABOUT} (partly missing)` : ABOUT;
    button.setAttribute("aria-label", label);
    button.title = label;
    button.classList.toggle("warned", Boolean(shown?.warning));
  };
}

function details({ id, url, options, title, credits = {}, warning, scale, dzi, shareUrl }) {
  const { width, height, tileSize, tileOverlap, tileFormat } = dzi;
  const converted = element("dd", {}, "…");
  const rows = [
    ["Title", title],
    ["Creator", credits.creator],
    ["Credit", credits.credit],
    ["Copyright", credits.copyright],
    ["Rights", credits.rights && rightsLink(credits.rights)],
    ["Source", isFile(url) ? `${nameOf(url)} (uploaded file)` : link(url)],
    ["Captured with", [...new URLSearchParams(options)].map(([name, value]) => (value ? `${name.slice("web-".length)}: ${value}` : "sealed headers")).join("; ")],
    ["Size", `${number(width)} × ${number(height)} pixels, ${megapixels(width * height)}`],
    ["Scale", scale && scaleWords(scale)],
    ["Converted", converted],
    ["Tiles", `${tileFormat === "png" ? "PNG" : "JPEG"}, ${tileSize} pixels, overlap ${tileOverlap}`],
    ["Deep Zoom Image", link(dzi.url)],
    ["IIIF", tileOverlap === 0 && iiif(shareUrl, id)],
  ];
  const list = element("dl", { class: "details" });
  for (const [name, value] of rows) {
    if (value) list.append(element("dt", {}, name), value === converted ? value : element("dd", {}, value));
  }
  dayOf(dzi.url).then((day) => (converted.textContent = day));
  offerDownload(`${shareUrl}/download`, list);
  const note = warning ? element("p", { class: "warning", role: "note" }, warning) : null;
  return [note, list, isFile(url) && keyOf(id) && deletion(id)];
}

/** Creates the button that deletes an uploaded picture, with a step to confirm. */
function deletion(id) {
  const words = element("p", { role: "status" });
  const actions = element("div", { class: "row" });
  const button = (text, onclick, kind = "plain") => element("button", { type: "button", class: kind, onclick }, text);
  const first = button("Delete this picture", () => {
    const keep = button("Keep it", reset);
    words.textContent = "Delete it for good? Its links and embeds stop working for everyone.";
    actions.replaceChildren(button("Delete for good", remove, "grave"), keep);
    keep.focus();
  });
  function reset() {
    words.textContent = "";
    actions.replaceChildren(first);
    first.focus();
  }
  async function remove() {
    const { address } = document.getElementById("stage").dataset;
    const answer = await fetch(address, { method: "DELETE", headers: { Authorization: `Bearer ${keyOf(id)}` } }).catch(() => null);
    if (!answer?.ok && answer?.status !== 410) {
      reset();
      words.textContent = `The picture was not deleted. ${answer ? await answer.text() : "The server does not respond. Try again."}`;
      return;
    }
    dropKey(id);
    forget(id);
    location.reload(); // shows that it is deleted
  }
  actions.append(first);
  return element("div", { class: "deletion" }, words, actions);
}

const link = (url) => element("a", { href: url, rel: "noopener noreferrer" }, url);
const number = (value, digits = 0) => value.toLocaleString("en", { maximumFractionDigits: digits });

function iiif(shareUrl, id) {
  const base = new URL(`iiif/${id}/`, shareUrl);
  const links = ["info.json", "manifest.json"].map((name) => element("a", { href: new URL(name, base).href }, name));
  return element("span", {}, links[0], ", ", links[1]);
}

function megapixels(pixels) {
  const millions = pixels / 1e6;
  return `${millions < 10 ? millions.toFixed(1) : number(millions)} megapixels`;
}

/** Adds the archive to the list, if the pyramid is stored as one. */
async function offerDownload(url, list) {
  const answer = await fetch(url, { method: "HEAD" }).catch(() => null);
  if (!answer?.ok) return;
  const megabytes = Number(answer.headers.get("Content-Length")) / 1e6;
  const size = megabytes > 0 ? ` (${number(megabytes, 1)} MB)` : "";
  const file = element("a", { href: url, download: true }, `Whole pyramid as one file${size}`);
  list.append(element("dt", {}, "Download"), element("dd", {}, file));
}

/** Returns the day on which the pyramid was stored: its descriptor is written last. */
async function dayOf(descriptor) {
  const answer = await fetch(descriptor, { method: "HEAD" }).catch(() => null);
  const modified = answer?.headers.get("Last-Modified");
  return modified ? new Date(modified).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" }) : "unknown";
}
