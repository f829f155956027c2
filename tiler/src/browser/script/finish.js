// Waits for fonts and for pictures to be decoded, at most `patience` ms, and puts what still moves into the state it is
// moving to. What moves for ever is left to be paused. What appeared when it was passed and hid again appears for good.
async ({ patience }) => {
  const late = new Promise((done) => setTimeout(done, patience));
  const pictures = [...document.images].filter((image) => image.complete).map((image) => image.decode().catch(() => {}));
  await Promise.race([late, Promise.all([document.fonts.ready, ...pictures])]);
  for (const animation of document.getAnimations()) {
    try { animation.finish(); } catch { /* it has no end */ }
  }
  const again = [...globalThis.shown ?? []].filter(([element, was]) => {
    const { opacity, visibility } = getComputedStyle(element);
    const hid = opacity < was.opacity - 0.05 || visibility === 'hidden';
    return hid && element.getBoundingClientRect().bottom > innerHeight; // what is in view hides for another reason
  });
  for (const [element, { opacity, transform }] of again) {
    const whole = opacity >= 0.5; // else it was seen halfway
    const styles = { visibility: 'visible', transition: 'none', animation: 'none', opacity: whole ? opacity : 1, transform: whole ? transform : 'none' };
    for (const [name, value] of Object.entries(styles)) {
      try { element.style.setProperty(name, value, 'important'); } catch { /* a page may call anything "style" */ }
    }
  }
  return { title: document.title, url: location.href };
}
