// OpenSeadragon's 2D canvas drawer for tiles without overlap. OpenSeadragon enlarges such a tile by one CSS pixel to
// hide gaps, which breaks lines at the seam by up to two pixels of a dense screen. Here neighbours meet at a whole
// screen pixel. Tiles that are enlarged, or rotated by other angles than multiples of 90°, are composed first and drawn
// as one picture, because separate tiles are not blended at their seams. OpenSeadragon intends the same for enlarged
// tiles, but reads a property that tiles do not have (6.1.1, `length`).
//
// `_drawTiles` and `_drawTile` are private. OpenSeadragon's version is pinned, and `seams.test.mjs` checks the pixels.

import OpenSeadragon from "openseadragon";

const { CanvasDrawer, Point } = OpenSeadragon;

/** Screen pixels per tile pixel from which tiles are composed. */
const ENLARGED_FROM = 1.02;
/** Maximum number of pixels composed for rotation. On larger screens, seams are visible while a picture rotates. */
const MAX_PIXELS = 16e6;

export class SeamlessDrawer extends CanvasDrawer {
  #sheet = document.createElement("canvas").getContext("2d");

  minimumOverlapRequired() {
    return false;
  }

  _drawTiles(tiledImage) {
    const tiles = tiledImage.getTilesToDraw().map(({ tile }) => tile);
    const level = Math.max(...tiles.map((tile) => tile.level));
    const isAlone = tiles.length < 2 || tiledImage.source.tileOverlap > 0;
    if (!isAlone && this.#isBlended(tiledImage, level)) this.#drawTogether(tiledImage, tiles, level);
    else super._drawTiles(tiledImage);
  }

  _drawTile(tile, tiledImage, ...rest) {
    const draw = () => super._drawTile(tile, tiledImage, ...rest);
    const turn = this.viewport.getRotation(true);
    if (tiledImage.source.tileOverlap > 0 || turn % 90 !== 0) return draw();
    const { position, size } = tile;
    this.#meet(tile, tiledImage, turn % 180 === 0 ? 0 : this.#shift);
    draw();
    [tile.position, tile.size] = [position, size];
  }

  /** Moves a tile's edges to whole screen pixels, plus `shift`. */
  #meet(tile, tiledImage, shift) {
    const density = OpenSeadragon.pixelDensityRatio;
    const snap = (at) => (Math.round(at * density + shift) - shift) / density;
    const [from, to] = this.#corners(tile, tiledImage).map(({ x, y }) => new Point(snap(x), snap(y)));
    tile.position = from;
    tile.size = to.minus(from);
  }

  /** Offset between the pixel grids of the canvas and of the canvas rotated by 90° about its centre. */
  get #shift() {
    return ((this.canvas.width + this.canvas.height) / 2) % 1;
  }

  /**
   * Returns a tile's first and last corner in the view. Shared edges are computed as for the neighbour, so both round
   * alike.
   */
  #corners({ x, y, level, bounds, isRightMost, isBottomMost }, tiledImage) {
    const { source } = tiledImage;
    const right = isRightMost ? bounds.x + bounds.width : source.getTileBounds(level, x + 1, y).x;
    const bottom = isBottomMost ? bounds.y + bounds.height : source.getTileBounds(level, x, y + 1).y;
    return [this.#placed(bounds.x, bounds.y, tiledImage), this.#placed(right, bottom, tiledImage)];
  }

  /** Converts a place in the picture, whose width is 1, to the view. */
  #placed(x, y, tiledImage) {
    const { x: left, y: top, width } = tiledImage.getBoundsNoRotate(true);
    return this.viewport.pixelFromPointNoRotate(new Point(left + x * width, top + y * width), true);
  }

  /** Returns screen pixels per pixel of a level. */
  #pixelsOf(tiledImage, level) {
    const zoom = tiledImage.viewportToImageZoom(this.viewport.getZoom(true));
    return (zoom * OpenSeadragon.pixelDensityRatio) / tiledImage.source.getLevelScale(level);
  }

  /** Returns true if screen pixels show pixels of two tiles. */
  #isBlended(tiledImage, level) {
    if (this.#pixelsOf(tiledImage, level) > ENLARGED_FROM) return true;
    const { width, height } = this.#seen(tiledImage, level);
    return this.viewport.getRotation(true) % 90 !== 0 && width * height <= MAX_PIXELS;
  }

  /** Composes the visible tiles in a level's pixels, then draws the result. */
  #drawTogether(tiledImage, tiles, level) {
    const { context } = this;
    const { x: left, y: top, width, height } = this.#seen(tiledImage, level);
    if (width <= 0 || height <= 0) return;
    const sheet = this.#sheet;
    const { canvas } = sheet;
    if (canvas.width < width || canvas.height < height) Object.assign(canvas, { width, height });
    sheet.clearRect(0, 0, canvas.width, canvas.height);
    const perUnit = unitOf(tiledImage, level);
    for (const tile of tiles) {
      const drawn = tile.loaded && this.getDataToDraw(tile)?.canvas;
      if (!drawn) continue;
      const { bounds, opacity, hasTransparency } = tile;
      const place = [bounds.x * perUnit - left, bounds.y * perUnit - top, bounds.width * perUnit, bounds.height * perUnit];
      if (hasTransparency && opacity === 1) sheet.clearRect(...place); // or a coarser tile would show through
      sheet.globalAlpha = opacity;
      sheet.drawImage(drawn, ...place);
    }
    const scale = this.#pixelsOf(tiledImage, level);
    const from = this.#placed(left / perUnit, top / perUnit, tiledImage).times(OpenSeadragon.pixelDensityRatio);
    const centre = new Point(this.canvas.width / 2, this.canvas.height / 2);
    context.save();
    context.translate(centre.x, centre.y);
    context.rotate((this.viewport.getRotation(true) * Math.PI) / 180);
    context.translate(-centre.x, -centre.y);
    context.drawImage(canvas, 0, 0, width, height, from.x, from.y, width * scale, height * scale);
    context.restore();
  }

  /** Returns the rectangle of a level's pixels that is in view, plus one pixel on each side. */
  #seen(tiledImage, level) {
    const { x: left, y: top, width: side } = tiledImage.getBoundsNoRotate(true);
    const perUnit = unitOf(tiledImage, level);
    const view = this.viewport.getBounds(true).getBoundingBox();
    const span = (from, length, most) => {
      const start = Math.max(Math.floor((from / side) * perUnit) - 1, 0);
      return [start, Math.min(Math.ceil(((from + length) / side) * perUnit) + 1, Math.ceil(most)) - start];
    };
    const [x, width] = span(view.x - left, view.width, perUnit);
    const [y, height] = span(view.y - top, view.height, perUnit / tiledImage.source.aspectRatio);
    return { x, y, width, height };
  }
}

/** Returns the picture's width in pixels of a level, not rounded. */
const unitOf = ({ source }, level) => source.dimensions.x * source.getLevelScale(level);
