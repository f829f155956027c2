// Waits until fonts are loaded and pictures that have arrived are decoded.
async () => {
  const pictures = [...document.images].filter((image) => image.complete).map((image) => image.decode().catch(() => {}));
  await Promise.all([document.fonts.ready, ...pictures]);
}
