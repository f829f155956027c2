// What a reader can take away from a share page: the link, the link to what they are looking at, the lines that embed it.

import { element } from "../dom.js";

const COPIED_MS = 2000;

/** Brings the page's Share button to life. It works whatever the content's state: links are good from the beginning. */
export function offerSharing(content) {
  const button = document.getElementById("open-share");
  const dialog = element("dialog", { class: "sharing", "aria-labelledby": "sharing" });
  button.hidden = false;
  button.addEventListener("click", () => {
    dialog.replaceChildren(...contents(content, dialog));
    dialog.showModal();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside the panel
  });
  document.body.append(dialog);
}

function contents({ shareUrl, embedHtml }, dialog) {
  const close = element("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close");
  const frame =
    `<iframe src="${shareUrl}/embed" width="100%" height="400" ` + `title="Zoomable picture" allow="fullscreen"></iframe>`;
  const lines = [["Link", shareUrl], ["Embed", embedHtml], ["Embed as a frame", frame]];
  // The address follows the view; without a fragment it is the whole picture, which the first line is.
  if (location.hash) lines.splice(1, 0, ["Link to this view", shareUrl + location.hash]);
  const head = element("div", { class: "row" }, element("h2", { id: "sharing" }, "Share"), close);
  return [element("div", { class: "panel" }, head, ...lines.map(line))];
}

function line([label, text], index) {
  const id = `share-${index}`;
  const field = element("input", { id, type: "text", readonly: true, value: text, onfocus: () => field.select() });
  const copy = element("button", { type: "button", "aria-label": `Copy ${label.toLowerCase()}` }, "Copy");
  const said = element("span", { class: "unseen", role: "status" });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
      said.textContent = "Copied";
    } catch {
      field.focus(); // selected, for the reader's own keys: no clipboard without https
      copy.textContent = "Selected";
    }
    setTimeout(() => {
      copy.textContent = "Copy";
      said.textContent = "";
    }, COPIED_MS);
  });
  const row = element("div", { class: "row" }, field, copy, said);
  return element("div", { class: "line" }, element("label", { for: id }, label), row);
}
