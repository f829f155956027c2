// Sends a file from the home page, shows how far sending and converting have come, and then goes to its page. Sending is the
// first half of the bar, converting the second.

import { element } from "../dom.js";
import { updateOf } from "../live/api.js";
import { watch } from "../live/watch.js";
import { stageWords } from "../live/words.js";
import { exchange, Unanswered } from "./exchange.js";
import { sendInParts } from "./send_parts.js";

/** The bytes of a megabyte, as people count. */
const MEGA = 1e6;
/** The bytes of a file that is sent in one request: the larger, the more is lost when the connection breaks. */
const WHOLE = 32e6;

/**
 * Shows the line with which a file is chosen, below the form. Gives the function that sends a file; null where the operator takes none.
 * `tell(text)` says what is wrong.
 */
export function offerSending(form, tell) {
  const line = document.getElementById("files");
  if (!line) return null;
  const most = Number(line.dataset.most);
  let stop = () => {};

  function send(file) {
    stop();
    tell();
    if (file.size === 0) return tell("This file is empty, or it is a folder.");
    if (file.size > most) return tell(`This file has ${megabytes(file.size)}. It may have ${megabytes(most)}.`);
    const panel = sendingPanel(file.name, () => stop());
    const sending = new AbortController();
    stop = () => {
      sending.abort();
      panel.remove();
    };
    form.after(panel.element);
    panel.element.scrollIntoView({ block: "nearest" });
    const onSent = (bytes) => panel.show(bytes / file.size / 2, `Sending: ${megabytes(bytes)} of ${megabytes(file.size)}`, "Sending");
    post(line.dataset.address, line.dataset.uploads, file, { onSent, signal: sending.signal }).then(follow, (error) => {
      stop();
      tell(error instanceof Unanswered ? `${error.message} Send the file once more.` : error.message);
    });

    function follow(known) {
      if (sending.signal.aborted) return;
      const leave = watch(`${line.dataset.address}${known.id}`, show, { known });
      stop = () => {
        leave();
        panel.remove();
      };
    }

    function show({ kind, content }) {
      if (kind === "processing") {
        const words = stageWords(content.stage);
        panel.show(0.5 + content.progress / 2, words, words);
      } else if (kind === "unreachable") {
        stop();
        tell("The file has arrived, but the service does not answer any more.");
      } else {
        panel.show(1, "Ready", "Ready");
        location.assign(content?.shareUrl ?? form.action);
      }
    }
  }

  const chosen = line.querySelector("input");
  chosen.addEventListener("change", () => {
    const [file] = chosen.files;
    if (file) send(file);
    chosen.value = ""; // the same file may be chosen again
  });
  // The browser's back button may restore the page as it was left.
  addEventListener("pageshow", () => stop());
  line.hidden = false;
  return send;
}

/** Sends a file, and gives the content that it is; fails with what people are told. */
async function post(address, uploads, file, { onSent, signal }) {
  const own = { onSent: (bytes) => onSent(Math.min(bytes, file.size)), signal };
  const whole = () => exchange("POST", `${address}?name=${encodeURIComponent(file.name)}`, file, { ...own, type: file.type || "application/octet-stream" });
  onSent(0);
  const { status, text } = await (file.size > WHOLE ? sendInParts(uploads, file, own) : whole());
  // The redirect to the content is followed, as in every request.
  const content = status === 200 ? parsed(text) : null;
  if (content && updateOf(content)) return content;
  throw new Error(text || "The file was not taken.");
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function megabytes(bytes) {
  const count = bytes / MEGA;
  return `${count.toLocaleString("en", { maximumFractionDigits: count < 10 ? 1 : 0 })} MB`;
}

/** What shows a file on its way. Screen readers read each step, but not the figures. */
function sendingPanel(name, onCancel) {
  const bar = element("progress", { max: "1", value: "0", "aria-labelledby": "sending-name" });
  const figures = element("span", { "aria-hidden": "true" });
  const step = element("span", { class: "unseen", role: "status" });
  const cancel = element("button", { type: "button", class: "plain", onclick: onCancel }, "Cancel");
  const panel = element(
    "div",
    { class: "sending", role: "group", "aria-labelledby": "sending-name" },
    element("b", { id: "sending-name" }, name),
    bar,
    element("div", { class: "line" }, figures, step, cancel),
  );
  return {
    element: panel,
    show(part, text, words) {
      bar.value = Math.max(bar.value, part); // a part that is sent again takes nothing back
      figures.textContent = text;
      if (step.textContent !== words) step.textContent = words;
    },
    remove: () => panel.remove(),
  };
}
