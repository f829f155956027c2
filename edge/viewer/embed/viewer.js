// The viewer as the embed script mounts it: a guest in somebody's page.

import { mountContent } from "../live/mount.js";

/** Shapes that a page can take without losing its order: from a tall column to a banner. */
const [TALLEST, WIDEST] = [1 / 2, 4];

/** Shows the content at `address` in `host`. `shaped` lets a host without a height take the picture's shape. */
export function embed(host, address, { fit, background, shaped }) {
  const onReady = ({ dzi }) => {
    if (shaped) host.style.aspectRatio = String(Math.min(Math.max(dzi.width / dzi.height, TALLEST), WIDEST));
  };
  mountContent(host, address, { fit, background, onReady, cooperative: true, mayCover: true });
}
