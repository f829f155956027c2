// A dialog over the page, which a button opens: with a title, a button that closes it, and what it is about.

import { element } from "../dom.js";

/**
 * Makes `button` open a dialog. `contents()` gives the elements below its head, each time it is opened. The browser gives
 * the focus back to the button when the dialog is closed.
 */
export function openedBy(button, title, contents) {
  const name = `dialog-${button.id}`;
  const dialog = element("dialog", { class: "sharing", "aria-labelledby": name });
  button.addEventListener("click", () => {
    const close = element("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close");
    const head = element("div", { class: "row" }, element("h2", { id: name }, title), close);
    dialog.replaceChildren(element("div", { class: "panel" }, head, ...contents()));
    dialog.showModal();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside the panel
  });
  document.body.append(dialog);
}
