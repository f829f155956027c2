// The home page's form works without this script. The script accepts URLs and files that are pasted or dropped
// anywhere, shows on the button that the form was sent, and adds recent contents and a picture to try.

import { element } from "../dom.js";
import { clear, recent } from "./recent.js";
import { offerUpload } from "./upload.js";

const form = document.getElementById("ask");
const field = form.elements.url;
const optional = form.querySelectorAll("details [name]");
const button = form.querySelector("button");
const label = button.textContent;

form.addEventListener("submit", () => {
  for (const one of optional) one.disabled = !one.value; // so that the address has no empty parameter
  button.textContent = "Opening …";
  button.setAttribute("aria-disabled", "true");
});

// The browser's back button may restore the page in its last state.
addEventListener("pageshow", () => {
  for (const one of optional) one.disabled = false;
  button.textContent = label;
  button.removeAttribute("aria-disabled");
  showRecent();
});

/** A URL, perhaps with quotes or brackets, which the service removes. */
const URL_TEXT = /^[^\w\s]{0,3}https?:\/\/\S+$/i;

document.addEventListener("paste", (event) => {
  const pasted = event.clipboardData?.getData("text/plain").trim() ?? "";
  if (event.target === field || !URL_TEXT.test(pasted)) return;
  event.preventDefault();
  field.value = pasted;
  field.focus();
});

document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragged");
});
document.addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dragged");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dragged");
  // A picture of another page is dropped as a URL and a file: the URL is used.
  const dropped = droppedUrl(event.dataTransfer);
  const { files, items } = event.dataTransfer;
  tell();
  if (dropped) {
    field.value = dropped;
    form.requestSubmit();
  } else if (files.length === 0) tell("Drop a link or a URL.");
  else if (!upload) tell("Uploads are off here. Drop a link or a URL instead.");
  else if ([...items].some((item) => item.webkitGetAsEntry?.()?.isDirectory)) tell("This is a folder. Drop the files in it.");
  else upload([...files]);
});

/** Shows an error about a dropped or chosen file; without a text, hides it. */
function tell(text = "") {
  const problem = document.getElementById("dropped");
  problem.textContent = text;
  problem.hidden = text === "";
}

/** Uploads files; null if uploads are off. */
const upload = offerUpload(form, tell);

/** Returns the dropped URL, of a link, a picture or a text. */
function droppedUrl(transfer) {
  const lines = ["text/uri-list", "text/plain"].flatMap((type) => transfer.getData(type).split(/[\r\n]+/));
  return lines.map((line) => line.trim()).find((line) => URL_TEXT.test(line));
}

function showRecent() {
  const section = document.getElementById("recent");
  const seen = recent();
  section.hidden = seen.length === 0;
  section.querySelector("ul").replaceChildren(...seen.map(card));
}

function card({ id, name, width, height }) {
  const address = new URL(id, form.action).href;
  const picture = element("img", { src: `${address}/thumbnail.jpg`, alt: "", loading: "lazy", width: "160", height: "120" });
  const size = [width, height].map((side) => Number(side).toLocaleString("en")).join(" × ");
  return element("li", {}, element("a", { href: address }, picture, element("b", {}, name), element("span", {}, size)));
}

document.getElementById("clear").addEventListener("click", () => {
  clear();
  showRecent();
  field.focus();
});

/** Shows the picture to try, if the operator has converted it. */
async function showPiece() {
  const figure = document.getElementById("showpiece");
  const { picture, viewer } = figure.dataset;
  const dzi = await (await fetch(`${picture}.json`)).json();
  figure.hidden = !dzi.width;
  if (!dzi.width) return;
  const { show } = await import(viewer);
  show(figure.querySelector(".stage"), { url: `${picture}.dzi`, ...dzi }, "A fictional town");
}
showPiece().catch((error) => console.warn("cannot show the picture to try:", error));
