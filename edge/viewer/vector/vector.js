// Pages as vectors. Where the picture is enlarged, the visible parts of its pages are drawn from their SVGs, on a canvas
// over the tiles and below the words. A page is one image, which the browser parses once and draws by `drawImage` with a
// source rectangle: the only way that Chromium, Firefox and WebKit all draw sharply, from the shapes, at any scale. While
// the view moves, a drawing that is quick is repeated in each frame; another one is moved, and drawn anew at rest.

/** Maximum number of pages whose image is kept. */
const MAX_IMAGES = 4;
/** A drawing that took less is quick, in milliseconds. */
const QUICK_MS = 6;
/** Time that the view rests before another drawing. */
const REST_MS = 100;
/** A drawing that took more is slow. The first one of an image does not count: it includes the layout of its shapes. */
const SLOW_MS = 300;
/** After a slow drawing, a page is drawn with half of the pixels on each side. It is left to its pixels when two more are slow in turn. */
const MAX_SLOW = 3;
/** Maximum side of a whole page in screen pixels: Firefox draws nothing from 2^24. */
const MAX_SIDE = 16e6;
const FADE_MS = 150;
/** Time between two frames from which the first was not quick, in milliseconds. */
const LATE_MS = 40;
/** Pixels on paper per screen pixel, on each side. */
const ON_PAPER = 3;
/** Maximum number of pixels on paper: Safari draws nothing on a canvas of more. */
const MAX_PIXELS = 16e6;

/**
 * Adds vectors to a viewer. `pages` has an entry for each page: `{ x, y, width, height, url }`, its box in pixels of the
 * picture and its SVG, whose area is the box; null if it has pixels only. URLs are relative to `base`.
 */
export function mountVector({ pages, base = document.baseURI }, viewer, camera) {
  const { drawer, ended } = viewer;
  if (ended.aborted) return;
  const canvas = document.createElement("canvas");
  canvas.ariaHidden = "true";
  canvas.style.cssText = "position: absolute; top: 0; left: 0; width: 100%; height: 100%; transform-origin: 0 0; pointer-events: none";
  drawer.canvas.after(canvas);
  const context = canvas.getContext("2d");
  const settled = document.createElement("canvas").getContext("2d");
  const stillness = matchMedia("(prefers-reduced-motion: reduce)");
  let drawable = pages.filter(Boolean).map((page) => ({ ...page, image: null, isLaidOut: false, slow: 0 }));
  /** The camera's matrix of the last drawing, or null if none is shown, and the size of the view then. */
  let drawn = null;
  let size = "";
  /** The view that the canvas shows, drawn or moved. */
  let followed = "";
  let tookMs = 0;
  let timer = 0;

  /** Returns the parts of pages in view, `{ page, x, y, width, height }`, and releases the images of other pages. */
  function visible() {
    const { seen, picture } = camera;
    const parts = [];
    for (const page of drawable) {
      const [x, y] = [Math.max(page.x, seen.left * picture.width), Math.max(page.y, seen.top * picture.height)];
      const width = Math.min(page.x + page.width, seen.right * picture.width) - x;
      const height = Math.min(page.y + page.height, seen.bottom * picture.height) - y;
      if (width > 0 && height > 0) parts.push({ page, x, y, width, height });
    }
    // The nearest to the middle of the view.
    const far = ({ x, y, width, height }) =>
      Math.hypot(2 * x + width - (seen.left + seen.right) * picture.width, 2 * y + height - (seen.top + seen.bottom) * picture.height);
    const kept = parts.sort((a, b) => far(a) - far(b)).slice(0, MAX_IMAGES);
    for (const page of drawable) if (!kept.some((part) => part.page === page)) page.image = null;
    return kept;
  }

  /** Returns true if the image of a page can be drawn. Loads it if there is none. */
  function isReady({ page }) {
    if (!page.image) {
      page.image = new Image();
      page.isLaidOut = false;
      page.image.onload = () => draw();
      page.image.src = new URL(page.url, base);
    }
    const { complete, naturalWidth } = page.image;
    const side = camera.scale(true) * devicePixelRatio * Math.max(page.width, page.height);
    return complete && naturalWidth > 0 && side < MAX_SIDE;
  }

  /** Draws the view, with `paper` pixels per CSS pixel, or those of the screen. */
  function draw(paper) {
    clearTimeout(timer);
    timer = 0;
    if (ended.aborted) return;
    const parts = camera.isEnlarged ? visible().filter(isReady) : [];
    if (parts.length === 0) return hide();
    const isSlow = parts.some(({ page }) => page.slow > 0);
    const density = paper ?? (isSlow ? Math.max(1, devicePixelRatio / 2) : devicePixelRatio);
    const { matrix } = camera;
    const start = performance.now();
    const [width, height] = [drawer.canvas.width, drawer.canvas.height].map((side) => Math.round((side * density) / devicePixelRatio));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.resetTransform();
    context.clearRect(0, 0, width, height);
    for (const part of parts) drawPart(part, new DOMMatrix().scale(density).multiply(matrix));
    tookMs = performance.now() - start;
    requestAnimationFrame(() => performance.now() - start > LATE_MS && (tookMs = LATE_MS)); // the work of another process
    if (parts.some(({ page }) => page.slow === MAX_SLOW)) {
      drawable = drawable.filter(({ slow }) => slow < MAX_SLOW);
      return draw(paper);
    }
    canvas.hidden = false;
    canvas.style.transform = "none";
    if (!drawn) canvas.animate({ opacity: [0, 1] }, stillness.matches ? 0 : FADE_MS);
    [drawn, size] = [matrix, sizeOf()];
    followed = viewOf(matrix);
  }

  function drawPart({ page, x, y, width, height }, matrix) {
    const { image } = page;
    const [across, down] = [image.naturalWidth / page.width, image.naturalHeight / page.height];
    const start = performance.now();
    context.setTransform(matrix.translate(x, y));
    context.fillStyle = "#fff"; // or blurred pixels would show beside edges
    context.fillRect(0, 0, width, height);
    context.drawImage(image, (x - page.x) * across, (y - page.y) * down, width * across, height * down, 0, 0, width, height);
    settled.drawImage(canvas, 0, 0, 1, 1); // or Chromium would put off the work
    const isSlow = performance.now() - start > SLOW_MS;
    if (!isSlow) page.slow = Math.min(page.slow, 1);
    else if (page.isLaidOut) page.slow += 1;
    page.isLaidOut = true;
  }

  const sizeOf = () => [drawer.canvas.width, drawer.canvas.height].join();
  const viewOf = (matrix) => [matrix, sizeOf()].join();

  /** Draws a view that has changed, or moves the last drawing if that was not quick. */
  function follow() {
    if (!camera.isEnlarged) {
      visible();
      return hide();
    }
    const { matrix } = camera;
    const view = viewOf(matrix);
    if (view === followed) return; // only tiles have changed
    followed = view;
    if (tookMs < QUICK_MS || (drawn && size !== sizeOf())) return draw();
    if (drawn) canvas.style.transform = matrix.multiply(drawn.inverse());
    clearTimeout(timer);
    timer = setTimeout(() => draw(), REST_MS);
  }

  function hide() {
    clearTimeout(timer);
    canvas.hidden = true; // WebKit shows the last drawing of a canvas that has become empty
    canvas.width = 0; // frees its memory
    drawn = null;
    followed = "";
  }

  viewer.addHandler("update-viewport", follow);
  viewer.addHandler("animation-finish", () => timer && draw());
  function print() {
    // Chromium would repeat the calls on paper, at a scale that it rounds to a 64th.
    canvas.style.imageRendering = "pixelated";
    const { width, height } = drawer.canvas;
    draw(devicePixelRatio * Math.max(1, Math.min(ON_PAPER, Math.sqrt(MAX_PIXELS / width / height))));
  }
  function endPrint() {
    canvas.style.imageRendering = "auto";
    draw();
  }
  addEventListener("beforeprint", print, { signal: ended });
  addEventListener("afterprint", endPrint, { signal: ended });
  ended.addEventListener("abort", () => {
    drawable = [];
    hide();
  });
  hide();
  draw();
}
