// Shows a picture in the output of a notebook's cell, as a widget of anywidget. The kernel has the tiles, and sends those
// that the view asks for. Until it answers, and for ever without a kernel, the output has a still of the last view.

import { element } from "../../edge/viewer/dom.js";
import { mountViewer } from "../../edge/viewer/zoom/viewer.js";

function render({ model, el }) {
  const { name, ...dzi } = model.get("picture");
  const blobOf = (bytes) => new Blob([bytes], { type: dzi.tileFormat === "png" ? "image/png" : "image/jpeg" });
  const still = URL.createObjectURL(new Blob([model.get("still")]));
  const host = element("div", {}, element("img", { src: still, alt: name }));
  host.style.height = `${model.get("height")}px`;
  Object.assign(host.firstChild.style, { width: "100%", height: "100%", objectFit: "contain" });
  el.append(host);

  /** Downloads that wait for their tile. */
  const waiting = new Map();
  let viewer = null;
  function answer({ tile }, [bytes] = []) {
    if (!tile) return (viewer ??= mount());
    waiting.get(String(tile))?.finish(blobOf(bytes), null, "rasterBlob");
    waiting.delete(String(tile));
  }
  function mount() {
    const { viewer } = mountViewer(host, { dzi: { ...dzi, url: "kernel.dzi" } }, { name, cooperative: true, mayCover: true });
    const placeOf = ({ tile: { level, x, y } }) => [level, x, y];
    viewer.world.addHandler("add-item", ({ item: { source } }) => {
      source.downloadTileStart = (download) => {
        waiting.set(String(placeOf(download)), download);
        model.send({ tile: placeOf(download) });
      };
      source.downloadTileAbort = (download) => waiting.delete(String(placeOf(download)));
    });
    viewer.addHandler("animation-finish", () => viewer.drawer.canvas.toBlob(keep, "image/jpeg", 0.8));
    return viewer;
  }
  async function keep(shown) {
    model.set("still", new DataView(await shown.arrayBuffer()));
    model.save_changes();
  }

  model.on("msg:custom", answer);
  model.send({ views: 1 });
  return () => {
    model.off("msg:custom", answer);
    model.send({ views: -1 });
    viewer?.destroy();
    URL.revokeObjectURL(still);
  };
}

export default { render };
