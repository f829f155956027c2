// Fullscreen, which restores the focus when it ends. Without fullscreen for elements (on iPhones), an embedded viewer
// can cover the page around instead.

/**
 * Controls fullscreen for the element `region`. `mayCover` allows covering the page instead; `onChange(active)` is
 * called after each change. Returns `{ active, toggle }`, or null if neither is possible.
 */
export function fullscreenOf(region, mayCover, onChange) {
  const native = document.fullscreenEnabled && region.requestFullscreen;
  const covering = !native && mayCover && region.showPopover;
  if (!native && !covering) return null;

  const root = region.getRootNode();
  let active = false;
  let returnTo = null;

  function changed(now) {
    if (now === active) return;
    active = now;
    onChange(active);
    if (!active) returnTo?.focus({ preventScroll: true });
  }
  function cover(on) {
    if (on) {
      region.popover = "manual";
      region.showPopover();
    } else {
      region.hidePopover();
      region.removeAttribute("popover");
    }
    changed(on);
  }
  const leave = () => (native ? document.exitFullscreen() : cover(false));
  const isNow = () => (native ? root.fullscreenElement === region : active); // its event comes a frame later

  if (native) region.addEventListener("fullscreenchange", () => changed(isNow()));
  else {
    region.addEventListener("keydown", (event) => {
      if (active && event.key === "Escape") leave();
    });
  }

  return {
    get active() {
      return active;
    },
    toggle() {
      if (isNow()) return leave();
      returnTo = root.activeElement;
      // Rejected only if the page's policy forbids fullscreen.
      return native ? region.requestFullscreen().catch(() => {}) : cover(true);
    },
  };
}
