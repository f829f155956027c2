// The home page's form works without this script, which accepts an address that is pasted or dropped anywhere, shows on
// the button that the form was sent, and adds what was seen in this browser and a picture to try.

import { element } from "../dom.js";
import { forget, recent } from "./recent.js";
import { offerSending } from "./send_file.js";

const form = document.getElementById("ask");
const field = form.elements.url;
const button = form.querySelector("button");
const label = button.textContent;

form.addEventListener("submit", () => {
  button.textContent = "Opening …";
  button.setAttribute("aria-disabled", "true");
});

// The browser's back button may restore the page with the changed button.
addEventListener("pageshow", () => {
  button.textContent = label;
  button.removeAttribute("aria-disabled");
  showRecent();
});

const ADDRESS = /^https?:\/\/\S+$/i;

document.addEventListener("paste", (event) => {
  const pasted = event.clipboardData?.getData("text/plain").trim() ?? "";
  if (event.target === field || !ADDRESS.test(pasted)) return;
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
  // A picture of another page comes as both, and is asked for by its address.
  const dropped = droppedAddress(event.dataTransfer);
  const [file] = event.dataTransfer.files;
  tell();
  if (dropped) {
    field.value = dropped;
    form.requestSubmit();
  } else if (file && sendFile) sendFile(file);
  else if (file) tell("Files can not be sent here. Drop the address of a picture, such as a link.");
  else tell("Drop the address of a picture, such as a link.");
});

/** Shows what is wrong with what was dropped or chosen; nothing: hides it. */
function tell(text = "") {
  const problem = document.getElementById("dropped");
  problem.textContent = text;
  problem.hidden = text === "";
}

/** Sends a file, where the operator allows that. */
const sendFile = offerSending(form, tell);

/** The address that was dropped: of a link, of a picture of another page, or a text. */
function droppedAddress(transfer) {
  const lines = ["text/uri-list", "text/plain"].flatMap((type) => transfer.getData(type).split(/[\r\n]+/));
  return lines.map((line) => line.trim()).find((line) => ADDRESS.test(line));
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

document.getElementById("forget").addEventListener("click", () => {
  forget();
  showRecent();
  field.focus();
});

/** Shows the picture to try, where the operator has converted it. Its place is kept until that is known. */
async function showPiece() {
  const figure = document.getElementById("showpiece");
  const { picture, viewer } = figure.dataset;
  const dzi = await (await fetch(`${picture}.json`)).json();
  figure.hidden = !dzi.width;
  if (!dzi.width) return;
  const { show } = await import(viewer);
  show(figure.querySelector(".stage"), { url: `${picture}.dzi`, ...dzi }, "A town that does not exist");
}
showPiece().catch((error) => console.warn("The picture to try is not shown:", error));
