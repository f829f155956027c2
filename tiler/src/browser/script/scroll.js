// Scrolls to `top`, or to the end of the page, so that lazy content loads. Loads native lazy content at once. Records
// for finish.js which hidden elements have appeared since the last call. Returns the position at which scrolling ends,
// that of the page or of its first `height` CSS px.
async ({ top, height }) => {
  const eager = () => document.querySelectorAll('[loading=lazy]').forEach((lazy) => { lazy.loading = 'eager'; });
  const root = () => document.scrollingElement ?? document.documentElement;

  // Maximum number of elements whose style is computed, and of hidden elements that are observed.
  const [maxStyles, maxHidden] = [20000, 2000];
  // A symbol, because a name may be that of an element or frame of the page, as "search" often is.
  const search = globalThis[Symbol.for('edgezoom search')] ??= { hidden: new Map(), shown: new Map(), known: 0, times: 0 };
  const { hidden, shown } = search;
  const findHidden = () => {
    const all = document.getElementsByTagName('*');
    if (all.length === search.known || search.times++ >= 8) return;
    search.known = all.length;
    for (let at = 0; at < Math.min(all.length, maxStyles) && hidden.size < maxHidden; at++) {
      const { opacity, visibility, position } = getComputedStyle(all[at]);
      const flows = position === 'static' || position === 'relative';
      if (flows && (opacity < 0.9 || visibility === 'hidden') && !hidden.has(all[at])) {
        hidden.set(all[at], { opacity: Number(opacity), visibility });
      }
    }
  };
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

  findHidden();
  recordShown();
  eager();
  const end = Math.max(0, Math.min(height, root()?.scrollHeight ?? 0) - window.innerHeight);
  window.scrollTo({ top: Math.min(top, end), behavior: 'instant' });
  return end;
}
