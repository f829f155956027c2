// OpenSeadragon's 2D canvas for tiles that do not overlap. OpenSeadragon draws such a tile one CSS pixel too large, so
// that no gap shows between neighbours: lines that cross the seam are then broken by up to that pixel, which is two on a
// dense screen. Here neighbours meet at a whole pixel of the screen, which both take for their edge. Tiles that are
// enlarged, or turned by no quarter, are put together first and drawn as one picture: each by itself would not be blended
// with its neighbours. OpenSeadragon means to do that for enlarged ones too, but asks tiles for their scale by a property
// that they do not have (6.1.1, `length`).
//
// `_drawTiles` and `_drawTile` are not part of OpenSeadragon's interface; its version is pinned, and `seams.test.mjs` looks
// at the pixels.

import OpenSeadragon from "openseadragon";

const { CanvasDrawer, Point } = OpenSeadragon;

/** Tiles are put together first from this many pixels of the screen for each of theirs. */
const ENLARGED_FROM = 1.02;
/** No more pixels than these are put together: a picture that turns on a large screen shows seams while it does. */
const MOST_PIXELS = 16e6;

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

  /** Moves a tile's edges to whole pixels of the screen, plus `shift`. */
  #meet(tile, tiledImage, shift) {
    const density = OpenSeadragon.pixelDensityRatio;
    const snap = (at) => (Math.round(at * density + shift) - shift) / density;
    const [from, to] = this.#corners(tile, tiledImage).map(({ x, y }) => new Point(snap(x), snap(y)));
    tile.position = from;
    tile.size = to.minus(from);
  }

  /** By how much the pixels of the canvas and those of a canvas turned by a quarter about the same centre differ. */
  get #shift() {
    return ((this.canvas.width + this.canvas.height) / 2) % 1;
  }

  /** A tile's first and last corner in the view. An edge is computed as for the neighbour, so that it is rounded alike. */
  #corners({ x, y, level, bounds, isRightMost, isBottomMost }, tiledImage) {
    const { source } = tiledImage;
    const right = isRightMost ? bounds.x + bounds.width : source.getTileBounds(level, x + 1, y).x;
    const bottom = isBottomMost ? bounds.y + bounds.height : source.getTileBounds(level, x, y + 1).y;
    return [this.#placed(bounds.x, bounds.y, tiledImage), this.#placed(right, bottom, tiledImage)];
  }

  /** A place in the picture, whose width is 1, in the view. */
  #placed(x, y, tiledImage) {
    const { x: left, y: top, width } = tiledImage.getBoundsNoRotate(true);
    return this.viewport.pixelFromPointNoRotate(new Point(left + x * width, top + y * width), true);
  }

  /** The screen's pixels for each of a level's. */
  #pixelsOf(tiledImage, level) {
    const zoom = tiledImage.viewportToImageZoom(this.viewport.getZoom(true));
    return (zoom * OpenSeadragon.pixelDensityRatio) / tiledImage.source.getLevelScale(level);
  }

  /** Whether pixels of the screen show pixels of two tiles at once. */
  #isBlended(tiledImage, level) {
    if (this.#pixelsOf(tiledImage, level) > ENLARGED_FROM) return true;
    const { width, height } = this.#seen(tiledImage, level);
    return this.viewport.getRotation(true) % 90 !== 0 && width * height <= MOST_PIXELS;
  }

  /** Draws what is seen of the tiles in a level's pixels, and that on the screen. */
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
      if (hasTransparency && opacity === 1) sheet.clearRect(...place); // or the coarser tile would show
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

  /** Which of a level's pixels are in the view, and one more on each side. */
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

/** A level's pixels for the width of the picture: the last of them may be less than one. */
const unitOf = ({ source }, level) => source.dimensions.x * source.getLevelScale(level);
