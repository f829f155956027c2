// The script of the share page and of the page for frames: mounts the content into the page, with the content object
// that the page has.

import { mountContent } from "../live/mount.js";
import { offerDetails } from "./details_dialog.js";
import { remember } from "./recent.js";
import { offerSharing } from "./share_dialog.js";

/** The distance between the panels above the picture and the picture, in CSS pixels. */
const BELOW_PANELS = 12;

const stage = document.getElementById("stage");
const known = JSON.parse(document.getElementById("content").textContent);
const { address, home, framed } = stage.dataset;

if (framed === undefined) {
  const panels = document.querySelector(".top");
  const showSharing = offerSharing(known);
  const showDetails = offerDetails();
  mountContent(stage, address, {
    known,
    home,
    address: true,
    coveredTop: () => panels.getBoundingClientRect().bottom + BELOW_PANELS,
    onReady: describe,
    onUpdate({ kind, content }) {
      showSharing(kind === "ready" || kind === "processing");
      showDetails(kind === "ready" ? content : null);
      if (kind === "ready") remember(content, document.querySelector("h1").textContent);
    },
  });
} else {
  const attribution = parameter("attribution") !== "0";
  mountContent(stage, address, { known, cooperative: true, attribution, fit: parameter("fit"), background: parameter("background") });
}

/** Says how large the picture is, and what is missing of it. */
function describe({ dzi, warning }) {
  const [width, height] = [dzi.width, dzi.height].map((side) => side.toLocaleString("en"));
  document.getElementById("size").textContent = ` · ${width} × ${height}`;
  const line = document.getElementById("warning");
  line.textContent = warning ?? "";
  line.hidden = !warning;
}

/** A parameter of the frame's address, parsed as the embed script does. */
function parameter(name) {
  const value = new URLSearchParams(location.search).get(name);
  if (name === "attribution") return value;
  if (name === "fit") return value === "cover" ? "cover" : "contain";
  return ["#" + value, value].find((colour) => CSS.supports("color", colour));
}
