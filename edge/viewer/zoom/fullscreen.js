// The viewer on the whole screen, and back to where the focus was. Where the browser has no fullscreen for elements (phones of
// Apple's), a viewer in somebody's page may cover that page instead; one that fills its window has nothing to gain.

/**
 * `region` is the element to be enlarged; `mayCover` permits covering the page instead; `onChange(active)` is told.
 * Gives null where there is no way, else `{ active, toggle, leave }`.
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
