// The view of a picture: its position, its limits, and the moves of controls, keys and addresses. It drives
// OpenSeadragon's viewport and knows neither buttons nor pages.

import { isCrisp, scaleOf, zoomRange } from "./geometry.js";

/** Two zooms or positions are the same when they differ by less than this part of the whole. */
const SAME = 1e-3;

export class Camera {
  #viewer;
  #fit;
  #isStill;
  #smooth = null;

  /** `picture` is `{ width, height }`, `fit` is `contain` or `cover`; `isStill()` says whether moves have no
   * animation. */
  constructor(viewer, picture, fit, isStill) {
    this.#viewer = viewer;
    this.#fit = fit;
    this.#isStill = isStill;
    this.picture = picture;
    viewer.addHandler("resize", () => this.#keepHome(() => this.measure()));
  }

  get #viewport() {
    return this.#viewer.viewport;
  }

  get #view() {
    const { x: width, y: height } = this.#viewport.getContainerSize();
    return { width, height };
  }

  /** Sets the limits of the picture in the view as it is now. */
  measure() {
    const sideways = Math.round(this.#viewport.getRotation() / 90) % 2 !== 0;
    const range = zoomRange(this.picture, this.#view, sideways, this.#fit);
    this.#viewport.defaultZoomLevel = range.home;
    this.#viewport.minZoomLevel = range.least;
    this.#viewport.maxZoomLevel = range.most;
  }

  /** Turns smoothing off where pixels are large enough to be drawn as squares. Has to be called when the view moves. */
  sharpen() {
    const smooth = !isCrisp(scaleOf(this.#viewport.getZoom(true), this.picture, this.#view));
    if (smooth === this.#smooth) return;
    this.#smooth = smooth;
    this.#viewer.drawer.setImageSmoothingEnabled(smooth);
  }

  /** CSS pixels for each picture pixel, in percent: now, or at the end of the animation. */
  percent(now) {
    return Math.round(scaleOf(this.#viewport.getZoom(now), this.picture, this.#view) * 100);
  }

  /** The moves that are possible from the end of the animation. */
  get range() {
    const zoom = this.#viewport.getZoom();
    return {
      canZoomIn: zoom < this.#viewport.getMaxZoom() * (1 - SAME),
      canZoomOut: zoom > this.#viewport.getMinZoom() * (1 + SAME),
      isHome: this.isHome(),
    };
  }

  isHome() {
    const { x, y } = this.#viewport.getCenter();
    const height = this.picture.height / this.picture.width;
    const zoom = this.#viewport.getZoom() / this.#viewport.getHomeZoom();
    return [x - 0.5, y / height - 0.5, zoom - 1].every((distance) => Math.abs(distance) < SAME);
  }

  /** The position at the end of the animation, as a place of `place.js`. */
  place() {
    const { x, y } = this.#viewport.viewportToImageCoordinates(this.#viewport.getCenter());
    return { x, y, zoom: this.#viewport.getZoom() };
  }

  go({ x, y, zoom }, immediately = this.#isStill()) {
    this.#viewport.zoomTo(this.#within(zoom), null, immediately);
    this.#viewport.panTo(this.#viewport.imageToViewportCoordinates(x, y), immediately);
    this.#viewport.applyConstraints(immediately);
  }

  goHome(immediately = this.#isStill()) {
    const { width, height } = this.picture;
    this.go({ x: width / 2, y: height / 2, zoom: this.#viewport.getHomeZoom() }, immediately);
  }

  zoomBy(factor) {
    this.#viewport.zoomTo(this.#within(this.#viewport.getZoom() * factor), null, this.#isStill());
    this.#viewport.applyConstraints(this.#isStill());
  }

  /** Moves the view by parts of its own width and height. */
  pan(right, down) {
    const { width, height } = this.#view;
    const pixels = this.#viewport.getContainerSize();
    [pixels.x, pixels.y] = [right * width, down * height];
    this.#viewport.panBy(this.#viewport.deltaPointsFromPixels(pixels), this.#isStill());
    this.#viewport.applyConstraints(this.#isStill());
  }

  /** Turns the picture clockwise by a quarter. */
  rotate() {
    this.#keepHome(() => {
      this.#viewport.setRotation(this.#viewport.getRotation() + 90, this.#isStill());
      this.measure();
    });
    this.#viewport.applyConstraints(this.#isStill());
  }

  /** Calls `listener` at the end of each animation. Returns the function that stops that. */
  onRest(listener) {
    this.#viewer.addHandler("animation-finish", listener);
    return () => this.#viewer.removeHandler("animation-finish", listener);
  }

  /** Makes a `change`. A view of the whole picture shows the whole picture after it too. */
  #keepHome(change) {
    const wasHome = this.isHome();
    change();
    if (wasHome) this.goHome();
  }

  #within(zoom) {
    return Math.min(Math.max(zoom, this.#viewport.getMinZoom()), this.#viewport.getMaxZoom());
  }
}
