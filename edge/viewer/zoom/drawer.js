// OpenSeadragon's 2D canvas for tiles that do not overlap. OpenSeadragon draws such a tile one CSS pixel too large, so
// that no gap shows between neighbours: lines that cross the seam are then broken by up to that pixel, which is two on a
// dense screen. Here neighbours meet at a whole pixel of the screen, which both take for their edge.
//
// `_drawTile` is not part of OpenSeadragon's interface; its version is pinned, and `seams.test.mjs` looks at the pixels.

import OpenSeadragon from "openseadragon";

const { CanvasDrawer, Point } = OpenSeadragon;

/** Tiles are enlarged as one picture, instead of each by itself, from this many pixels of the screen for each of theirs. */
const ENLARGED_FROM = 1.1;

export class SeamlessDrawer extends CanvasDrawer {
  minimumOverlapRequired() {
    return false;
  }

  _drawTiles(tiledImage) {
    tiledImage.smoothTileEdgesMinZoom = ENLARGED_FROM / OpenSeadragon.pixelDensityRatio;
    super._drawTiles(tiledImage);
  }

  _drawTile(tile, tiledImage, useSketch, scale, translate, ...rest) {
    const draw = () => super._drawTile(tile, tiledImage, useSketch, scale, translate, ...rest);
    if (tiledImage.source.tileOverlap > 0) return draw();
    const { position, size } = tile;
    const turn = useSketch && scale ? 0 : this.viewport.getRotation(true) + tiledImage.getRotation(true);
    if (turn % 90 === 0) {
      this.#meet(tile, tiledImage, scale ?? 1, translate ?? new Point(0, 0), turn % 180 === 0 ? 0 : this.#shift);
    } else if (!tile.hasTransparency) {
      // Turned by another angle, edges are blended with what is below them: another copy of the same tile, one pixel larger.
      tile.size = size.plus(new Point(1, 1).divide(OpenSeadragon.pixelDensityRatio));
      draw();
      tile.size = size;
    }
    draw();
    [tile.position, tile.size] = [position, size];
  }

  /** Moves a tile's edges to whole pixels, plus `shift`, of the canvas that it is drawn on. */
  #meet(tile, tiledImage, scale, translate, shift) {
    const perPoint = OpenSeadragon.pixelDensityRatio * scale;
    const snap = (at, by) => (Math.round(at * perPoint + by + shift) - shift - by) / perPoint;
    const snapped = ({ x, y }) => new Point(snap(x, translate.x), snap(y, translate.y));
    const [from, to] = corners(tile, tiledImage, this.viewport).map(snapped);
    tile.position = from;
    tile.size = to.minus(from);
  }

  /** By how much the pixels of the canvas and those of a canvas turned by a quarter about the same centre differ. */
  get #shift() {
    return ((this.canvas.width + this.canvas.height) / 2) % 1;
  }
}

/** The first and the last corner of a tile in the view. An edge is computed as for the neighbour, so that it is rounded alike. */
function corners(tile, tiledImage, viewport) {
  const { source } = tiledImage;
  const { x: left, y: top, width } = tiledImage.getBoundsNoRotate(true);
  const { x, y, level, bounds } = tile;
  const right = tile.isRightMost ? bounds.x + bounds.width : source.getTileBounds(level, x + 1, y).x;
  const bottom = tile.isBottomMost ? bounds.y + bounds.height : source.getTileBounds(level, x, y + 1).y;
  const placed = (x, y) => viewport.pixelFromPointNoRotate(new Point(left + x * width, top + y * width), true);
  return [placed(bounds.x, bounds.y), placed(right, bottom)];
}
