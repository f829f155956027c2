// Runs in a drawing, in which scripts are disabled. Gives it its size, waits for its fonts and pictures, and ends its
// animations: one that ends shows its last state, one that never ends a state after some seconds. No timer runs here.
// Returns true if the document is a drawing.
async function ({ width, height }) {
  const ENDLESS = 5_000;
  const root = document.documentElement;
  if (root.localName !== "svg") return false;
  const box = root.getBoundingClientRect();
  if (Math.abs(box.width - width) >= 1 || Math.abs(box.height - height) >= 1) {
    root.style.setProperty("width", `${width}px`, "important");
    root.style.setProperty("height", `${height}px`, "important");
  }
  await document.fonts.ready;
  await Promise.allSettled([...document.querySelectorAll("image, img")].map((picture) => picture.decode?.()));
  for (const animation of document.getAnimations()) {
    if (animation.effect?.getComputedTiming().endTime === Infinity) {
      animation.pause();
      animation.currentTime = ENDLESS;
    } else {
      animation.finish();
    }
  }
  root.pauseAnimations();
  root.setCurrentTime(60);
  return true;
}
