// A content in an element, whatever its state: progress while it is under way, the picture when it is ready, the reason when
// it failed. It goes from one to the other by itself. All it draws lies in a shadow tree, so that a host page's styles and
// ours do not meet; styles are adopted, not inline, so that a strict policy (CSP) allows them.

import { contents } from "./contents.js";
import { showPicture } from "./picture.js";
import { statusPanel } from "./status.js";
import styles from "./styles.viewer.css";

/**
 * Shows a content in `host`, whose size it takes.
 *
 * @param {HTMLElement} host
 * @param {object} setting
 * @param {string} setting.content the address of the content object
 * @param {object} [setting.known] the content object, if it is known already
 */
export async function mount(host, { content: address, known }) {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  shadow.adoptedStyleSheets = [sheet];
  const panel = statusPanel();
  shadow.replaceChildren(panel.element);

  for await (const content of contents(address, known)) {
    if (content.ready) {
      showPicture(content, shadow);
      return;
    }
    panel.show(content);
  }
}
