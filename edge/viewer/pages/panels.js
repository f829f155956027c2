// The panels over the picture of a share page or of a site.

/** Distance between the panels and the picture below them, in CSS pixels. */
const BELOW_PANELS = 12;

/**
 * Keeps the picture and the parts of the viewer in `stage` below the panels. Returns `coveredTop` of `mountViewer`.
 */
export function coverBy(panels, stage) {
  const coveredTop = () => panels.getBoundingClientRect().bottom + BELOW_PANELS;
  new ResizeObserver(() => stage.style.setProperty("--covered", `${coveredTop()}px`)).observe(panels);
  return coveredTop;
}

/** Shows the size of the picture, with words before it, and the warning if there is one. */
export function describe({ dzi, warning }, before = "") {
  const [width, height] = [dzi.width, dzi.height].map((side) => side.toLocaleString("en"));
  document.getElementById("size").textContent = `${before}${width} × ${height}`;
  const line = document.getElementById("warning");
  line.textContent = warning ?? "";
  line.hidden = !warning;
}
