// The dialog of the share page: the link, the link to the current view, the HTML that embeds the picture.

import { element } from "../dom.js";

const COPIED_MS = 2000;

/** Activates the page's Share button. It works in any state of the content: the links exist from the beginning. */
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
  // The fragment of the address is the current view; without one it is the whole picture, which is the first line.
  if (location.hash) lines.splice(1, 0, ["Link to this view", shareUrl + location.hash]);
  const head = element("div", { class: "row" }, element("h2", { id: "sharing" }, "Share"), close);
  return [element("div", { class: "panel" }, head, ...lines.map(line))];
}

function line([label, text], index) {
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
      field.focus(); // selects the text; there is no clipboard without https
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
