// Scrolls through the page once, so that what loads only when seen is seen, and back to the top. Endless pages grow
// meanwhile: `height` CSS px and `patience` ms end it. Remembers what was hidden until it was passed, for finish.js.
async ({ height, step, patience }) => {
  const end = performance.now() + patience;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const frame = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 20)); setTimeout(done, 100); });
  const eager = () => document.querySelectorAll('[loading=lazy]').forEach((lazy) => { lazy.loading = 'eager'; });
  const root = () => document.scrollingElement ?? document.documentElement;

  // At most so many elements are looked at, and so many of them watched.
  const [looked, watched] = [20000, 2000];
  const hidden = new Map();
  let [known, looks] = [0, 0];
  const look = () => {
    const all = document.getElementsByTagName('*');
    if (all.length === known || looks++ >= 8) return;
    known = all.length;
    for (let at = 0; at < Math.min(known, looked) && hidden.size < watched; at++) {
      const { opacity, visibility, position } = getComputedStyle(all[at]);
      const flows = position === 'static' || position === 'relative';
      if (flows && (opacity < 0.9 || visibility === 'hidden') && !hidden.has(all[at])) {
        hidden.set(all[at], { opacity: Number(opacity), visibility });
      }
    }
  };
  const shown = globalThis.shown = new Map();
  const note = () => {
    if (hidden.size === 0) return;
    for (const animation of document.getAnimations().slice(0, watched)) {
      try { animation.finish(); } catch { /* it has no end */ }
    }
    for (const [element, was] of hidden) {
      const { opacity, visibility, transform } = getComputedStyle(element);
      const best = shown.get(element)?.opacity ?? was.opacity;
      const appeared = visibility === 'visible' && (was.visibility === 'hidden' ? opacity > 0.1 : opacity > best + 0.01);
      if (appeared && opacity >= best) shown.set(element, { opacity: Number(opacity), transform });
    }
  };

  eager();
  look();
  for (let top = 0; performance.now() < end; top += hidden.size > 0 ? step / 2 : step) {
    const bottom = Math.min(height, root()?.scrollHeight ?? 0) - window.innerHeight;
    window.scrollTo({ top: Math.min(top, bottom), behavior: 'instant' });
    await frame();
    look();
    note();
    if (top >= bottom) break;
  }
  if (hidden.size > 0) { // those that look at the page now and then only
    await wait(200);
    note();
  }
  eager();
  window.scrollTo({ top: 0, behavior: 'instant' });
  await frame();
}
