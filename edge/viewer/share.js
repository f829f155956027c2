// The share page: mounts the viewer into the page's stage, with the content object that came along.

import { mount } from "./viewer.js";

const stage = document.getElementById("stage");
const known = JSON.parse(document.getElementById("content").textContent);
mount(stage, { content: stage.dataset.content, known });
