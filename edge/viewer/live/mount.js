// Shows a content in an element, in any state: its progress, with the picture so far as soon as there is one, then the
// picture itself, or the failure. Embeds and pages load this module.

import { element, shadow } from "../dom.js";
import { mountViewer } from "../zoom/viewer.js";
import { fetchRetried } from "./api.js";
import { coarsePicture } from "./coarse.js";
import css from "./live.css";
import { problemCard, progressCard } from "./status.js";
import { watch } from "./watch.js";
import { nameOf } from "./words.js";

/**
 * Shows the content at `address` of the interface in `host`, filling it.
 *
 * Options: `known` (the content object, if the page has it), `home` (the address of a link when there is no picture),
 * `onReady(content)` (called before the viewer is mounted), `onUpdate(update)` (called with each update of `api.js`), and
 * those of `mountViewer`. Returns the function that
 * removes everything.
 */
export function mountContent(host, address, options = {}) {
  const { known, home, onReady, onUpdate, ...viewing } = options;
  let leave = () => {};
  let progress = null;
  let coarse = null;
  /** Whether the element that is about to be replaced has the focus. */
  const hadFocus = () => host.shadowRoot?.activeElement != null;

  function place(card) {
    const frame = element("div", { class: "frame" }, card);
    if (options.background) frame.style.background = options.background;
    shadow(host, css).replaceChildren(frame);
    return frame;
  }

  /** The frame of the progress, which makes room for the picture once there is one. */
  function placeProgress(content) {
    progress = progressCard(content);
    const frame = place(progress.card);
    coarse = coarsePicture(frame, () => {
      const above = options.fit === "cover" ? 0 : (options.coveredTop?.() ?? 0);
      frame.style.setProperty("--above", `${above}px`);
      frame.classList.add("drawn");
    });
  }

  function show(update) {
    onUpdate?.(update);
    if (update.kind === "processing") {
      if (!progress) placeProgress(update.content);
      progress.update(update.content);
      coarse.show(update.content.coarseUrl);
      return;
    }
    progress = null;
    const focused = hadFocus();
    if (update.kind === "ready") {
      onReady?.(update.content);
      const cover = coarse?.lift();
      const mounted = mountViewer(host, update.content, { name: nameOf(update.content.url), ...viewing });
      leave = mounted.destroy;
      cover?.(mounted.viewer, mounted.canvas);
      coarse = null;
      if (focused) mounted.focus();
    } else {
      coarse = null;
      place(problemCard(update, { home, onRetry: retry }));
      if (focused) host.shadowRoot.querySelector("button")?.focus({ preventScroll: true });
    }
  }

  /** Asks for another try, then follows it. */
  async function retry() {
    const waiting = element("div", { class: "card", role: "status", tabindex: "-1" }, "One moment …");
    place(waiting);
    waiting.focus({ preventScroll: true });
    const update = await fetchRetried(address);
    if (update.refused) show(update);
    else leave = watch(address, show, { known: update.content, revalidate: true });
  }

  leave = watch(address, show, { known });
  return () => {
    leave();
    host.shadowRoot?.replaceChildren();
  };
}
