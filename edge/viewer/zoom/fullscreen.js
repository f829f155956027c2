// Fullscreen, which returns the focus when it ends. Where the browser has no fullscreen for elements (on iPhones), a
// viewer in a page of another site may cover that page instead; a viewer that fills its window gains nothing by that.

/**
 * `region` is the element to enlarge; `mayCover` permits to cover the page instead; `onChange(active)` is called after
 * each change. Returns `{ active, toggle, leave }`, or null where neither is possible.
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

  if (native) region.addEventListener("fullscreenchange", () => changed(root.fullscreenElement === region));
  else {
    region.addEventListener("keydown", (event) => {
      if (active && event.key === "Escape") leave();
    });
  }

  return {
    get active() {
      return active;
    },
    leave,
    toggle() {
      if (active) return leave();
      returnTo = root.activeElement;
      // Refused only where the page's owner forbids it: the view then stays as it is.
      return native ? region.requestFullscreen().catch(() => {}) : cover(true);
    },
  };
}
