// Scrolls through the page once, so that lazy content loads, and back to the top. Infinite scrolling ends after
// `height` CSS px or `patience` ms. Records for finish.js which hidden elements appear when they are scrolled into
// view.
async ({ height, step, patience }) => {
  const end = performance.now() + patience;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const frame = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 20)); setTimeout(done, 100); });
  const eager = () => document.querySelectorAll('[loading=lazy]').forEach((lazy) => { lazy.loading = 'eager'; });
  const root = () => document.scrollingElement ?? document.documentElement;

  // Maximum number of elements whose style is computed, and of hidden elements that are observed.
  const [maxStyles, maxHidden] = [20000, 2000];
  const hidden = new Map();
  let [known, searches] = [0, 0];
  const findHidden = () => {
    const all = document.getElementsByTagName('*');
    if (all.length === known || searches++ >= 8) return;
    known = all.length;
    for (let at = 0; at < Math.min(known, maxStyles) && hidden.size < maxHidden; at++) {
      const { opacity, visibility, position } = getComputedStyle(all[at]);
      const flows = position === 'static' || position === 'relative';
      if (flows && (opacity < 0.9 || visibility === 'hidden') && !hidden.has(all[at])) {
        hidden.set(all[at], { opacity: Number(opacity), visibility });
      }
    }
  };
  const shown = globalThis.shown = new Map();
  const recordShown = () => {
    if (hidden.size === 0) return;
    for (const animation of document.getAnimations().slice(0, maxHidden)) {
      try { animation.finish(); } catch { /* it is infinite */ }
    }
    for (const [element, was] of hidden) {
      const { opacity, visibility, transform } = getComputedStyle(element);
      const best = shown.get(element)?.opacity ?? was.opacity;
      const appeared = visibility === 'visible' && (was.visibility === 'hidden' ? opacity > 0.1 : opacity > best + 0.01);
      if (appeared && opacity >= best) shown.set(element, { opacity: Number(opacity), transform });
    }
  };

  eager();
  findHidden();
  for (let top = 0; performance.now() < end; top += hidden.size > 0 ? step / 2 : step) {
    const bottom = Math.min(height, root()?.scrollHeight ?? 0) - window.innerHeight;
    window.scrollTo({ top: Math.min(top, bottom), behavior: 'instant' });
    await frame();
    findHidden();
    recordShown();
    if (top >= bottom) break;
  }
  if (hidden.size > 0) { // for pages that throttle their scroll events
    await wait(200);
    recordShown();
  }
  eager();
  window.scrollTo({ top: 0, behavior: 'instant' });
  await frame();
}
