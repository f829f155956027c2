// Waits at most `patience` ms for fonts to load and images to decode, and finishes running animations. Infinite animations
// are left running, to be paused later. Elements that appeared while the page was scrolled and disappeared again are shown.
async ({ patience }) => {
  const timeout = new Promise((done) => setTimeout(done, patience));
  const pictures = [...document.images].filter((image) => image.complete).map((image) => image.decode().catch(() => {}));
  await Promise.race([timeout, Promise.all([document.fonts.ready, ...pictures])]);
  for (const animation of document.getAnimations()) {
    try { animation.finish(); } catch { /* it is infinite */ }
  }
  const disappeared = [...globalThis.shown ?? []].filter(([element, was]) => {
    const { opacity, visibility } = getComputedStyle(element);
    const isHidden = opacity < was.opacity - 0.05 || visibility === 'hidden';
    return isHidden && element.getBoundingClientRect().bottom > innerHeight; // an element in view is hidden for another reason
  });
  for (const [element, { opacity, transform }] of disappeared) {
    const appeared = opacity >= 0.5; // otherwise its transition was not complete
    const styles = { visibility: 'visible', transition: 'none', animation: 'none', opacity: appeared ? opacity : 1, transform: appeared ? transform : 'none' };
    for (const [name, value] of Object.entries(styles)) {
      try { element.style.setProperty(name, value, 'important'); } catch { /* a form field named "style" replaces the property */ }
    }
  }
  const tags = [...document.querySelectorAll('meta[name][content]')].slice(0, 200)
    .map((tag) => ['name', 'content'].map((name) => (tag.getAttribute(name) ?? '').slice(0, 200)));
  return { title: document.title, url: location.href, tags };
}
