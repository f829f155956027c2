// Scrolls through the page once, so that what loads only when seen is seen, and back to the top. Endless pages grow
// meanwhile: `height` CSS px and `patience` ms end it.
async ({ height, step, patience }) => {
  const end = performance.now() + patience;
  const frame = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 20)); setTimeout(done, 100); });
  const eager = () => document.querySelectorAll('[loading=lazy]').forEach((lazy) => { lazy.loading = 'eager'; });
  const root = () => document.scrollingElement ?? document.documentElement;
  eager();
  for (let top = 0; performance.now() < end; top += step) {
    const bottom = Math.min(height, root()?.scrollHeight ?? 0) - window.innerHeight;
    window.scrollTo({ top: Math.min(top, bottom), behavior: 'instant' });
    await frame();
    if (top >= bottom) break;
  }
  eager();
  window.scrollTo({ top: 0, behavior: 'instant' });
  await frame();
}
