// A content in an element, whatever its state: progress, then the picture by itself, or the reason why there is none. This is
// the module that embeds and pages load.

import { element, shadow } from "../dom.js";
import { mountViewer } from "../zoom/viewer.js";
import { addressOfSource, ask } from "./contents.js";
import css from "./live.css";
import { problemCard, progressCard } from "./status.js";
import { watch } from "./watch.js";
import { nameOf } from "./words.js";

/**
 * Shows the content at `address` of the interface in `host`, filling it.
 *
 * Options: `known` (the content object, where the page has it already), `home` (an address to offer when there is no
 * picture), `onReady(content)` (called before the viewer is mounted), and those of `mountViewer`. Gives the function that
 * takes all of it away.
 */
export function mountContent(host, address, options = {}) {
  const { known, home, onReady, ...viewing } = options;
  let leave = () => {};
  let progress = null;
  /** Whether the reader's focus was in what is about to be replaced. */
  const hadFocus = () => host.shadowRoot?.activeElement != null;

  function place(card) {
    const frame = element("div", { class: "frame" }, card);
    if (options.background) frame.style.background = options.background;
    shadow(host, css).replaceChildren(frame);
  }

  function show(news) {
    if (news.kind === "processing") {
      if (!progress) {
        progress = progressCard(news.content);
        place(progress.card);
      }
      progress.update(news.content);
      return;
    }
    progress = null;
    const focused = hadFocus();
    if (news.kind === "ready") {
      onReady?.(news.content);
      const mounted = mountViewer(host, news.content, { name: nameOf(news.content.url), ...viewing });
      leave = mounted.destroy;
      if (focused) mounted.focus();
    } else place(problemCard(news, { home, onRetry: () => retry(news) }));
  }

  /** Asks by the source's URL, which begins anew what may be begun anew, then follows what comes of it. */
  async function retry(news) {
    const waiting = element("div", { class: "card", role: "status", tabindex: "-1" }, "One moment …");
    place(waiting);
    waiting.focus({ preventScroll: true });
    if (news.content) await ask(addressOfSource(address, news.content), { afresh: true });
    leave = watch(address, show, { afresh: true });
  }

  leave = watch(address, show, { known });
  return () => {
    leave();
    host.shadowRoot?.replaceChildren();
  };
}
