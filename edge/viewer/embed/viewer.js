// The viewer as others mount it: the embed script in a page of another site, and the home page for its picture.

import { mountContent } from "../live/mount.js";
import { mountViewer } from "../zoom/viewer.js";

/** Aspect ratios that fit into the layout of a page: from a tall column to a banner. */
const [TALLEST, WIDEST] = [1 / 2, 4];

/** Shows the content at `address` in `host`. With `shaped`, a host without a height gets the aspect ratio of the
 * picture. */
export function embed(host, address, { fit, background, attribution, shaped }) {
  const onReady = ({ dzi }) => {
    if (shaped) host.style.aspectRatio = String(Math.min(Math.max(dzi.width / dzi.height, TALLEST), WIDEST));
  };
  mountContent(host, address, { fit, background, attribution, onReady, cooperative: true, mayCover: true });
}

/** Shows a pyramid in `host` under a name, covering it. */
export function show(host, dzi, name) {
  mountViewer(host, { dzi }, { name, fit: "cover", cooperative: true, mayCover: true });
}
