// The dialog of the share page: the link, the link to the current view, the HTML that embeds the picture.

import { element } from "../dom.js";
import { openedBy } from "./dialog.js";

const COPIED_MS = 2000;

/** Activates the page's Share button. Returns the function that shows and hides it: a failed content is not shared. */
export function offerSharing(content) {
  const button = document.getElementById("open-share");
  openedBy(button, "Share", () => contents(content));
  return (shown) => (button.hidden = !shown);
}

function contents({ shareUrl, embedHtml }) {
  const frame =
    `<iframe src="${shareUrl}/embed" width="100%" height="400" ` + `title="Zoomable picture" allow="fullscreen"></iframe>`;
  const lines = [["Link", shareUrl], ["Embed", embedHtml], ["Embed as a frame", frame]];
  // The fragment of the address is the current view; without one it is the whole picture, which is the first line.
  if (location.hash) lines.splice(1, 0, ["Link to this view", shareUrl + location.hash]);
  return [sharedByDevice(shareUrl + location.hash), ...lines.map(line)].filter(Boolean);
}

/** A button that passes the link to the device's own sharing, where there is one. */
function sharedByDevice(url) {
  if (!navigator.share) return null;
  const share = () => navigator.share({ title: document.title, url }).catch(() => {}); // the reader may change their mind
  return element("button", { type: "button", onclick: share }, "Send with an app");
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
