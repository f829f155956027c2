// The viewer as the embed script mounts it, in a page of another site.

import { mountContent } from "../live/mount.js";

/** Aspect ratios that fit into the layout of a page: from a tall column to a banner. */
const [TALLEST, WIDEST] = [1 / 2, 4];

/** Shows the content at `address` in `host`. With `shaped`, a host without a height gets the aspect ratio of the
 * picture. */
export function embed(host, address, { fit, background, shaped }) {
  const onReady = ({ dzi }) => {
    if (shaped) host.style.aspectRatio = String(Math.min(Math.max(dzi.width / dzi.height, TALLEST), WIDEST));
  };
  mountContent(host, address, { fit, background, onReady, cooperative: true, mayCover: true });
}
