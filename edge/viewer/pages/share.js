// The script of the share page and of the page for frames: shows the content, whose content object is part of the page.

import { mountContent } from "../live/mount.js";
import { schemeAssumption } from "./assumed.js";
import { offerDetails, offerSharing } from "./dialogs.js";
import { coverBy, describe } from "./panels.js";
import { remember } from "./recent.js";

const stage = document.getElementById("stage");
const known = JSON.parse(document.getElementById("content").textContent);
const { address, home, framed } = stage.dataset;
const { search } = location;

if (framed === undefined) {
  let page = 0;
  const showSharing = offerSharing(() => page);
  const showDetails = offerDetails();
  mountContent(stage, address, {
    known,
    home,
    takeOver: schemeAssumption(address),
    ownsPage: true,
    search,
    coveredTop: coverBy(document.querySelector(".top"), stage),
    onPage: (number) => (page = number),
    onReady: (content) => describe(content, " · "),
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

/** Returns a parameter of the frame's URL, parsed like the embed script's. */
function parameter(name) {
  const value = new URLSearchParams(search).get(name);
  if (name === "attribution") return value;
  if (name === "fit") return value === "cover" ? "cover" : "contain";
  return ["#" + value, value].find((colour) => CSS.supports("color", colour));
}
