// The view of a picture: its position, its limits, and the moves of controls, keys and addresses. It drives
// OpenSeadragon's viewport and knows neither buttons nor pages.

import { isCrisp, scaleOf, zoomRange } from "./geometry.js";

/** Two zooms or positions are the same when they differ by less than this part of the whole. */
const SAME = 1e-3;

export class Camera {
  #viewer;
  #fit;
  #isStill;
  #covered;
  #openingZoom = 1;
  /** The view that has a name: `opening`, `home`, or null for any other. */
  #at = null;
  #smooth = null;

  /** `picture` is `{ width, height }`, `fit` is `contain` or `cover`; `isStill()` says whether moves have no animation;
   * `covered()` is how much of the view panels and controls cover, `{ top, bottom }`. */
  constructor(viewer, picture, { fit, isStill, covered }) {
    this.#viewer = viewer;
    this.#fit = fit;
    this.#isStill = isStill;
    this.#covered = () => (fit === "cover" ? { top: 0, bottom: 0 } : covered());
    this.picture = picture;
    viewer.addHandler("resize", () => this.refit());
    viewer.addHandler("animation-finish", () => (this.#at = this.isOpening() ? "opening" : this.isHome() ? "home" : null));
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
    const range = zoomRange(this.picture, this.#view, this.#isSideways, this.#fit, this.#covered());
    this.#openingZoom = range.opening;
    this.#viewport.defaultZoomLevel = range.home;
    this.#viewport.minZoomLevel = range.least;
    this.#viewport.maxZoomLevel = range.most;
  }

  /** Fits the picture into a view that has changed, or that other things cover now. */
  refit() {
    this.#keepWhole(() => this.measure());
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

  /** Whether the view is the one that shows the whole picture. */
  isHome() {
    return this.#isAt(this.#home);
  }

  /** Whether the view is the one that the picture opens with. */
  isOpening() {
    return this.#isAt(this.#opening);
  }

  /** Where an elongated picture goes on beyond the view that it opens with: `right`, `down`, or null. */
  get goesOn() {
    if (this.#openingZoom <= this.#viewport.getHomeZoom() * (1 + SAME)) return null;
    return this.picture.width > this.picture.height ? "right" : "down";
  }

  /** The part of the picture that is seen now, between 0 and 1 where it lies in the picture: `{ left, top, right, bottom }`. */
  get seen() {
    const { width, height } = this.#view;
    const corner = this.#viewport.getContainerSize();
    const corners = [[0, 0], [width, 0], [0, height], [width, height]].map(([x, y]) => {
      [corner.x, corner.y] = [x, y];
      return this.#viewport.pointFromPixel(corner, true);
    });
    const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y / this.#shape)];
    return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
  }

  /** How far the picture is turned, in degrees. */
  get rotation() {
    return this.#viewport.getRotation();
  }

  /** The position at the end of the animation, as a place of `place.js`. */
  place() {
    const { x, y } = this.#viewport.viewportToImageCoordinates(this.#viewport.getCenter());
    return { x, y, zoom: this.#viewport.getZoom() };
  }

  go({ x, y, zoom }, immediately = this.#isStill()) {
    this.#at = null;
    this.#viewport.zoomTo(this.#within(zoom), null, immediately);
    this.#viewport.panTo(this.#viewport.imageToViewportCoordinates(x, y), immediately);
    this.#viewport.applyConstraints(immediately);
  }

  goHome(immediately = this.#isStill()) {
    this.go(this.#home, immediately);
    this.#at = "home";
  }

  goToOpening(immediately = this.#isStill()) {
    this.go(this.#opening, immediately);
    this.#at = "opening";
  }

  /** Zooms about a point of the view in CSS pixels, or about its middle. */
  zoomBy(factor, about = null) {
    const point = about && this.#viewport.pointFromPixel(about, true);
    this.#viewport.zoomTo(this.#within(this.#viewport.getZoom() * factor), point, this.#isStill());
    this.#viewport.applyConstraints(this.#isStill());
  }

  /** Moves a point of the picture, in parts of its width and height, to the middle of the view. */
  centre(x, y) {
    const [right, down] = [x, y].map((part) => Math.min(Math.max(part, 0), 1));
    this.go({ x: right * this.picture.width, y: down * this.picture.height, zoom: this.#viewport.getZoom() });
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
    this.#keepWhole(() => {
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

  /** Makes a `change`. A view of the whole picture shows the whole picture after it too, and the one that it opens with
   * is that again. */
  #keepWhole(change) {
    const at = this.#at;
    change();
    if (at === "opening") this.goToOpening();
    else if (at === "home") this.goHome();
  }

  get #isSideways() {
    return Math.round(this.#viewport.getRotation() / 90) % 2 !== 0;
  }

  /** The picture's height in its widths. */
  get #shape() {
    return this.picture.height / this.picture.width;
  }

  get #home() {
    const { width, height } = this.picture;
    return this.#shifted({ x: width / 2, y: height / 2, zoom: this.#viewport.getHomeZoom() });
  }

  /** The view that the picture opens with: its whole, or the beginning of an elongated one. */
  get #opening() {
    const zoom = this.#openingZoom;
    if (!this.goesOn || this.#isSideways) return this.#home;
    const { width, height } = this.picture;
    const scale = scaleOf(zoom, this.picture, this.#view);
    const half = { x: this.#view.width / scale / 2, y: this.#free / scale / 2 };
    const beginning = this.goesOn === "right" ? { x: half.x, y: height / 2 } : { x: width / 2, y: half.y };
    return this.#shifted({ ...beginning, zoom });
  }

  /** The height of the view that nothing covers. */
  get #free() {
    const { top, bottom } = this.#covered();
    return this.#view.height - top - bottom;
  }

  /** A place, moved so that it is in the middle of what is not covered instead of in the middle of the view. */
  #shifted({ x, y, zoom }) {
    const { top, bottom } = this.#covered();
    const down = (bottom - top) / 2 / scaleOf(zoom, this.picture, this.#view);
    const turned = (this.#viewport.getRotation() * Math.PI) / 180;
    return { x: x + down * Math.sin(turned), y: y + down * Math.cos(turned), zoom };
  }

  #isAt(place) {
    const centre = this.#viewport.getCenter();
    const { x, y } = this.#viewport.imageToViewportCoordinates(place.x, place.y);
    const zoom = this.#viewport.getZoom() / place.zoom;
    return [centre.x - x, (centre.y - y) / this.#shape, zoom - 1].every((distance) => Math.abs(distance) < SAME);
  }

  #within(zoom) {
    return Math.min(Math.max(zoom, this.#viewport.getMinZoom()), this.#viewport.getMaxZoom());
  }
}
