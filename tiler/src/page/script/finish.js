// Waits for fonts and for pictures to be decoded, at most `patience` ms, and puts what still moves into the state it is
// moving to. What moves for ever is left to be paused.
async ({ patience }) => {
  const late = new Promise((done) => setTimeout(done, patience));
  const pictures = [...document.images].filter((image) => image.complete).map((image) => image.decode().catch(() => {}));
  await Promise.race([late, Promise.all([document.fonts.ready, ...pictures])]);
  for (const animation of document.getAnimations()) {
    try { animation.finish(); } catch { /* it has no end */ }
  }
  return { title: document.title, url: location.href };
}
