// The viewer for other pages: the embed script uses it on other sites, and the home page for its picture.

import { mountContent } from "../live/mount.js";
import { mountViewer } from "../zoom/viewer.js";

/** Range of aspect ratios that fit into a page's layout. */
const MIN_ASPECT = 1 / 2;
const MAX_ASPECT = 4;

/** Shows the content at an API URL in `host`. With `shaped`, the host gets the aspect ratio of the picture. */
export function embed(host, url, { shaped, ...options }) {
  const onReady = ({ dzi }) => {
    if (shaped) host.style.aspectRatio = String(Math.min(Math.max(dzi.width / dzi.height, MIN_ASPECT), MAX_ASPECT));
  };
  mountContent(host, url, { ...options, onReady, cooperative: true, mayCover: true });
}

/** Shows a pyramid in `host`, covering it. */
export function show(host, dzi, name) {
  mountViewer(host, { dzi }, { name, fit: "cover", cooperative: true, mayCover: true });
}
