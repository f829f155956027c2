// The script of the share page and of the page for frames: shows the content, whose content object is part of the page.

import { mountContent } from "../live/mount.js";
import { schemeAssumption } from "./assumed.js";
import { offerDetails, offerSharing } from "./dialogs.js";
import { remember } from "./recent.js";

/** Distance between the panels and the picture below them, in CSS pixels. */
const BELOW_PANELS = 12;

const stage = document.getElementById("stage");
const known = JSON.parse(document.getElementById("content").textContent);
const { address, home, framed } = stage.dataset;
const { search } = location;

if (framed === undefined) {
  const panels = document.querySelector(".top");
  const coveredTop = () => panels.getBoundingClientRect().bottom + BELOW_PANELS;
  new ResizeObserver(() => stage.style.setProperty("--covered", `${coveredTop()}px`)).observe(panels);
  let page = 0;
  const showSharing = offerSharing(() => page);
  const showDetails = offerDetails();
  mountContent(stage, address, {
    known,
    home,
    takeOver: schemeAssumption(address),
    ownsPage: true,
    search,
    coveredTop,
    onPage: (number) => (page = number),
    onReady: describe,
    onUpdate({ kind, content }) {
      if (content?.title) showTitle(content.title);
      showSharing(kind === "ready" || kind === "processing" ? content : null);
      showDetails(kind === "ready" ? content : null);
      if (kind === "ready") remember(content, document.querySelector("h1").textContent);
    },
  });
} else {
  const attribution = parameter("attribution") !== "0";
  const onReady = ({ title }) => title && showTitle(title, "");
  const look = { attribution, fit: parameter("fit"), background: parameter("background") };
  mountContent(stage, address, { known, cooperative: true, ...look, search, onReady });
}

/** Shows a title that became known after the page was made. */
function showTitle(title, suffix = " – Edgezoom") {
  document.querySelector("h1").textContent = title;
  document.title = title + suffix;
}

/** Shows the size of the picture, and the warning if there is one. */
function describe({ dzi, warning }) {
  const [width, height] = [dzi.width, dzi.height].map((side) => side.toLocaleString("en"));
  document.getElementById("size").textContent = ` · ${width} × ${height}`;
  const line = document.getElementById("warning");
  line.textContent = warning ?? "";
  line.hidden = !warning;
}

/** Returns a parameter of the frame's URL, parsed like the embed script's. */
function parameter(name) {
  const value = new URLSearchParams(search).get(name);
  if (name === "attribution") return value;
  if (name === "fit") return value === "cover" ? "cover" : "contain";
  return ["#" + value, value].find((colour) => CSS.supports("color", colour));
}
