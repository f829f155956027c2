// The script of a site that `tiler convert --viewer` writes. It requests nothing but tiles and vectors: the page has the
// content object, with the words themselves as `text` and the places of vectors as `vector`, because a page opened from a
// disk cannot fetch.

import { coverBy, describe } from "../pages/panels.js";
import { mountText } from "../text/text.js";
import { mountVector } from "../vector/vector.js";
import { mountViewer } from "../zoom/viewer.js";

const stage = document.getElementById("stage");
const content = JSON.parse(document.getElementById("content").textContent);
content.shareUrl = location.href.split(/[?#]/)[0];
describe(content);
mountViewer(stage, content, {
  name: content.alt ?? content.title,
  ownsPage: true,
  search: location.search,
  coveredTop: coverBy(document.querySelector(".top"), stage),
  loadText: async (text) => ({ text, mountText }),
  loadVector: async (vector) => ({ vector, mountVector }),
});
