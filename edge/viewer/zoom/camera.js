// The view of a picture: its position, its limits, and the moves of controls, keys and URLs. It drives OpenSeadragon's
// viewport and knows neither buttons nor pages.

import { VECTORS_FROM, freeHeight, isCrisp, scaleOf, zoomRange } from "./geometry.js";

/** Relative difference below which two zooms or positions are equal. */
const TOLERANCE = 1e-3;

export class Camera {
  #viewer;
  #fit;
  #isStill;
  #covered;
  #openingZoom = 1;
  /** Returns the home view if that is a part of the picture. */
  #part = null;
  /** The method that goes to the current view if it is the opening view, home or the whole picture, or null. */
  #at = null;
  #smooth = null;

  /**
   * `picture` is `{ width, height, vectors }`, with `vectors` true if it has any, `fit` is `contain` or `cover`, `isStill()` returns true if moves are not
   * animated, and `covered()` returns the CSS pixels that panels and controls cover, `{ top, bottom, isLow }`. In a low
   * view the controls may cover the picture, as far as there is no room beside it.
   */
  constructor(viewer, picture, { fit, isStill, covered }) {
    this.#viewer = viewer;
    this.#fit = fit;
    this.#isStill = isStill;
    this.#covered = () => {
      if (fit === "cover") return { top: 0, bottom: 0 };
      const { top, bottom, isLow } = covered();
      return { top, bottom: isLow ? Math.min(bottom, freeHeight(picture, this.#view, this.#isSideways)) : bottom };
    };
    this.picture = picture;
    // OpenSeadragon raises this event before it changes the zoom.
    viewer.addHandler("resize", () => queueMicrotask(() => this.refit(true)));
    viewer.addHandler("animation-finish", () => this.#recognize());
  }

  get #viewport() {
    return this.#viewer.viewport;
  }

  get #view() {
    const { x: width, y: height } = this.#viewport.getContainerSize();
    return { width, height };
  }

  /** Sets the viewport's limits for the current view. */
  measure() {
    const range = zoomRange(this.picture, this.#view, this.#isSideways, this.#fit, this.#covered());
    this.#openingZoom = range.opening;
    this.#viewport.defaultZoomLevel = range.home;
    this.#viewport.minZoomLevel = range.least;
    this.#viewport.maxZoomLevel = range.most;
  }

  /** Fits the picture into a view that was resized or covered. */
  refit(immediately = this.#isStill()) {
    this.#keepWhole(() => this.measure(), immediately);
  }

  /** Turns smoothing off if pixels are large enough to be drawn as squares. Call it when the view moves. */
  sharpen() {
    const smooth = !isCrisp(scaleOf(this.#viewport.getZoom(true), this.picture, this.#view));
    if (smooth === this.#smooth) return;
    this.#smooth = smooth;
    this.#viewer.drawer.setImageSmoothingEnabled(smooth);
  }

  /** Returns CSS pixels per picture pixel, now or at the end of the animation. */
  scale(now) {
    return scaleOf(this.#viewport.getZoom(now), this.picture, this.#view);
  }

  /** Returns the same in percent. */
  percent(now) {
    return Math.round(this.scale(now) * 100);
  }

  /** True if the picture is enlarged so much that vectors are drawn. */
  get isEnlarged() {
    return this.scale(true) * devicePixelRatio >= VECTORS_FROM;
  }

  /** The transform from pixels of the picture to CSS pixels of the view. */
  get matrix() {
    const { x, y } = this.inView({ x: 0, y: 0 });
    return new DOMMatrix().translate(x, y).rotate(this.#viewport.getRotation(true)).scale(this.scale(true));
  }

  /** Returns where a point of the picture is in the view, in CSS pixels. */
  inView({ x, y }) {
    return this.#viewport.pixelFromPoint(this.#viewport.imageToViewportCoordinates(x, y), true);
  }

  /** Returns the point of the picture at a place of the view, in picture pixels. */
  inPicture({ x, y }) {
    const place = this.#viewport.getContainerSize();
    [place.x, place.y] = [x, y];
    return this.#viewport.viewportToImageCoordinates(this.#viewport.pointFromPixel(place, true));
  }

  /** The moves that are possible at the end of the animation. */
  get range() {
    const zoom = this.#viewport.getZoom();
    return {
      canZoomIn: zoom < this.#viewport.getMaxZoom() * (1 - TOLERANCE),
      canZoomOut: zoom > this.#viewport.getMinZoom() * (1 + TOLERANCE),
      isHome: this.isHome(),
    };
  }

  /**
   * Makes a part of the picture the home view and the opening view, in place of the whole. `part()` returns its place,
   * which depends on the size of the view.
   */
  setHome(part) {
    this.#part = part;
    if (this.#at) this.#recognize();
  }

  /** Returns true if the view is the home view. */
  isHome() {
    return this.#isAt(this.#home);
  }

  /** Returns true if the view shows the whole picture. */
  isWhole() {
    return this.#isAt(this.#whole);
  }

  /** Returns true if the view is the opening view. */
  isOpening() {
    return this.#isAt(this.#opening);
  }

  /** Direction in which an elongated picture continues beyond its opening view: `right`, `down`, or null. */
  get continues() {
    if (this.#part || this.#openingZoom <= this.#viewport.getHomeZoom() * (1 + TOLERANCE)) return null;
    return this.picture.width > this.picture.height ? "right" : "down";
  }

  /** The visible part of the picture in fractions of its sides: `{ left, top, right, bottom }`. */
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

  /** Rotation of the picture in degrees. */
  get rotation() {
    return this.#viewport.getRotation();
  }

  /** Returns the position at the end of the animation, as a place of `place.js`, and its scale. */
  place() {
    const { x, y } = this.#viewport.viewportToImageCoordinates(this.#viewport.getCenter());
    const turn = (((Math.round(this.rotation) % 360) + 360) % 360);
    return { x, y, zoom: this.#viewport.getZoom(), turn, scale: this.scale() };
  }

  go({ x, y, zoom, turn = this.rotation }, immediately = this.#isStill()) {
    this.#at = null;
    this.#turnTo(turn, immediately);
    this.#viewport.zoomTo(this.#within(zoom), null, immediately);
    this.#viewport.panTo(this.#viewport.imageToViewportCoordinates(x, y), immediately);
    this.#viewport.applyConstraints(immediately);
  }

  goHome(immediately = this.#isStill()) {
    this.go(this.#home, immediately);
    this.#at = "goHome";
  }

  goToWhole(immediately = this.#isStill()) {
    this.go(this.#whole, immediately);
    this.#at = "goToWhole";
  }

  goToOpening(immediately = this.#isStill(), turn = this.rotation) {
    this.#turnTo(turn, immediately);
    this.go(this.#opening, immediately);
    this.#at = "goToOpening";
  }

  /** Zooms about a point of the view in CSS pixels, or about its centre. */
  zoomBy(factor, about = null) {
    const point = about && this.#viewport.pointFromPixel(about, true);
    this.#viewport.zoomTo(this.#within(this.#viewport.getZoom() * factor), point, this.#isStill());
    this.#viewport.applyConstraints(this.#isStill());
  }

  /** Centres the view on a point of the picture, in fractions of its sides. */
  centre(x, y) {
    const [right, down] = [x, y].map((fraction) => Math.min(Math.max(fraction, 0), 1));
    this.go({ x: right * this.picture.width, y: down * this.picture.height, zoom: this.#viewport.getZoom() });
  }

  /** Moves the view by fractions of its own width and height. */
  pan(right, down) {
    const { width, height } = this.#view;
    const pixels = this.#viewport.getContainerSize();
    [pixels.x, pixels.y] = [right * width, down * height];
    this.#viewport.panBy(this.#viewport.deltaPointsFromPixels(pixels), this.#isStill());
    this.#viewport.applyConstraints(this.#isStill());
  }

  /** Rotates the picture by 90° clockwise. */
  rotate() {
    this.#keepWhole(() => this.#turnTo(this.rotation + 90, this.#isStill()));
    this.#viewport.applyConstraints(this.#isStill());
  }

  /** Calls `listener` at the end of each animation. */
  onRest(listener) {
    this.#viewer.addHandler("animation-finish", listener);
  }

  #turnTo(degrees, immediately) {
    if (degrees === this.rotation) return;
    this.#viewport.setRotation(degrees, immediately);
    this.measure();
  }

  #recognize() {
    this.#at = this.isOpening() ? "goToOpening" : this.isHome() ? "goHome" : this.isWhole() ? "goToWhole" : null;
  }

  /** Makes a change that keeps the opening view, home or the whole picture, if the view is one of these. */
  #keepWhole(change, immediately = this.#isStill()) {
    const at = this.#at;
    change();
    if (at) this[at](immediately);
  }

  get #isSideways() {
    return Math.round(this.#viewport.getRotation() / 90) % 2 !== 0;
  }

  /** Height of the picture divided by its width. */
  get #shape() {
    return this.picture.height / this.picture.width;
  }

  get #home() {
    return this.#part?.() ?? this.#whole;
  }

  get #whole() {
    const { width, height } = this.picture;
    return this.#shifted({ x: width / 2, y: height / 2, zoom: this.#viewport.getHomeZoom() });
  }

  /** The opening view: home, or the start of an elongated picture. */
  get #opening() {
    const zoom = this.#openingZoom;
    if (!this.continues || this.#isSideways) return this.#home;
    const { width, height } = this.picture;
    const scale = scaleOf(zoom, this.picture, this.#view);
    const half = { x: this.#view.width / scale / 2, y: this.#free / scale / 2 };
    const start = this.continues === "right" ? { x: half.x, y: height / 2 } : { x: width / 2, y: half.y };
    return this.#shifted({ ...start, zoom });
  }

  /** Uncovered height of the view in CSS pixels. */
  get #free() {
    const { top, bottom } = this.#covered();
    return this.#view.height - top - bottom;
  }

  /** Shifts a place from the centre of the view to the centre of its uncovered part. */
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
    // In widths of the view: a page is a small part of a long document.
    return [(centre.x - x) * place.zoom, (centre.y - y) * place.zoom, zoom - 1].every((distance) => Math.abs(distance) < TOLERANCE);
  }

  #within(zoom) {
    return Math.min(Math.max(zoom, this.#viewport.getMinZoom()), this.#viewport.getMaxZoom());
  }
}
