// Uploads files from the home page, one after another, and shows the progress of upload and conversion in one bar each.
// The page of a single file opens when it is ready; each of several files gets a link. Large files are sent in parts: a
// part that fails is sent again, and this browser remembers the stored parts, so choosing the same file within a day
// resumes the upload.

import { element } from "../dom.js";
import { updateOf, watch } from "../live/watch.js";
import { stageWords } from "../live/copy.js";
import { keepKey } from "./deletion_keys.js";

/**
 * Size in bytes up to which a file is sent in one request. Larger ones would lose too much when the connection breaks.
 */
const MAX_WHOLE = 32e6;
/** Key of the unfinished upload in the browser's storage. */
const KEY = "edgezoom-sending";
/**
 * Milliseconds for which an unfinished upload can be resumed: the service keeps it for a day, less an hour to spare.
 */
const RESUMABLE = 23 * 3_600_000;
/** Pauses before a failed request is repeated, in milliseconds. */
const PAUSES = [500, 1000, 2000, 4000, 8000, 16_000];

/** Number of panels so far. */
let panels = 0;

/** The connection failed; the message is for people. */
class ConnectionLost extends Error {}

/**
 * Shows the line for choosing files, below the form. Returns the function that uploads files, or null if the operator
 * has not enabled uploads. `tell(text)` shows an error.
 */
export function offerUpload(form, tell) {
  const line = document.getElementById("files");
  if (!line) return null;
  const { address, uploads } = line.dataset;
  const most = Number(line.dataset.most);
  /** Ends the uploads that were begun. */
  const ends = [];
  const endAll = () => ends.splice(0).forEach((end) => end());

  function problemOf({ name, size }, isAlone) {
    const subject = isAlone ? "The file" : name;
    if (size === 0) return `${subject} is empty.`;
    return size > most ? `${subject} is too large (${megabytes(size)}). The limit is ${megabytes(most)}.` : "";
  }

  function upload(files) {
    endAll();
    const isAlone = files.length === 1;
    tell(files.map((file) => problemOf(file, isAlone)).filter(Boolean).join(" "));
    const list = element("div");
    form.after(list);
    let turn = Promise.resolve();
    for (const file of files.filter((one) => !problemOf(one))) turn = begin(file, { turn, list, isAlone });
    list.scrollIntoView({ block: "nearest" });
  }

  /**
   * Uploads a file when `turn` has resolved, and follows its conversion. Resolves when the file is sent, or will not
   * be.
   */
  function begin(file, { turn, list, isAlone }) {
    const sending = new AbortController();
    const { signal } = sending;
    const panel = uploadPanel(file.name, end);
    let leave = () => {};
    function end() {
      sending.abort();
      leave();
      panel.element.remove();
    }
    function fail(words) {
      end();
      tell(isAlone ? words : `${file.name}: ${words}`);
    }
    ends.push(end);
    list.append(panel.element);
    panel.show(0, "Waiting", "Waiting");

    const onSent = (bytes) => panel.show(bytes / file.size / 2, `Uploading: ${megabytes(bytes)} of ${megabytes(file.size)}`, "Uploading");
    const ended = new Promise((resolve) => signal.addEventListener("abort", resolve));
    const alt = isAlone ? form.elements.alt.value : "";
    const sent = turn.then(() => (signal.aborted ? null : send(address, uploads, file, { onSent, signal, alt }))).then(follow, ({ message }) => fail(message));

    function follow(known) {
      if (known && !signal.aborted) leave = watch(`${address}${known.id}`, show, { known });
    }

    function show({ kind, content }) {
      if (kind === "unreachable") return fail("The file is uploaded, but the connection was lost. Upload it again to open its page.");
      const isWaiting = content?.stage === "waiting"; // its page says for how long
      if (kind === "processing" && !(isWaiting && isAlone)) {
        const words = stageWords(content.stage);
        return panel.show(0.5 + content.progress / 2, words, words);
      }
      const page = content?.shareUrl ?? form.action;
      if (isAlone) {
        panel.show(1, "Ready", "Ready");
        return location.assign(page);
      }
      panel.finish(kind === "ready" ? "Ready" : "Failed", page);
      ends.splice(ends.indexOf(end), 1); // its link stays
    }

    return Promise.race([sent, ended]);
  }

  const chosen = line.querySelector("input");
  chosen.addEventListener("change", () => {
    if (chosen.files.length > 0) upload([...chosen.files]);
    chosen.value = ""; // so that the same file can be chosen again
  });
  // The browser's back button may restore the page in its last state.
  addEventListener("pageshow", endAll);
  line.hidden = false;
  return upload;
}

function megabytes(bytes) {
  const count = bytes / 1e6;
  return `${count.toLocaleString("en", { maximumFractionDigits: count < 10 ? 1 : 0 })} MB`;
}

/** Creates the progress of an upload. Screen readers announce each step, but not the figures. */
function uploadPanel(name, onCancel) {
  const id = `sending-${(panels += 1)}`;
  const bar = element("progress", { max: "1", value: "0", "aria-labelledby": id });
  const figures = element("span", { "aria-hidden": "true" });
  const step = element("span", { class: "unseen", role: "status" });
  const cancel = element("button", { type: "button", class: "plain", onclick: onCancel }, "Cancel");
  const panel = element(
    "div",
    { class: "sending", role: "group", "aria-labelledby": id },
    element("b", { id }, name),
    bar,
    element("div", { class: "line" }, figures, step, cancel),
  );
  return {
    element: panel,
    show(progress, text, words) {
      bar.value = Math.max(bar.value, progress); // a repeated part does not move it back
      figures.textContent = text;
      if (step.textContent !== words) step.textContent = words;
    },
    /** Replaces the Cancel button by a link, which opens a tab of its own because other files may be under way. */
    finish(words, address) {
      this.show(1, words, words);
      cancel.replaceWith(element("a", { class: "button", href: address, target: "_blank", "aria-label": `Open ${name}` }, "Open"));
    },
  };
}

/** Uploads a file and returns its content object. Rejects with a message for people. */
async function send(address, uploads, file, { onSent, signal, alt }) {
  const watched = { onSent: (bytes) => onSent(Math.min(bytes, file.size)), signal, alt };
  const inOneRequest = () => created(address, file, file, { ...watched, type: file.type || "application/octet-stream" });
  onSent(0);
  const { status, text } = await (file.size > MAX_WHOLE ? sendInParts(uploads, file, watched) : inOneRequest());
  const content = status === 200 ? parsed(text) : null;
  if (content && updateOf(content)) {
    keepKey(content);
    return content;
  }
  throw new Error(`Upload rejected: ${text || "the service gave no reason."}`);
}

/**
 * Sends the request that creates the content of a file, and returns `{ status, text }`: 200 and the content object, or
 * the error. It asks for the response object: the browser would follow a redirect, whose body has the deletion key.
 */
async function created(url, file, body, { alt, ...options }) {
  const described = alt && `&alt=${encodeURIComponent(alt)}`;
  const answer = await exchange("POST", `${url}?format=json&name=${encodeURIComponent(file.name)}${described}`, body, options);
  const { status, content, error = "" } = (answer.status === 200 && parsed(answer.text)) || {};
  if (!status) return answer;
  return content ? { status: 200, text: JSON.stringify(content) } : { status, text: error };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Sends one request and resolves to the `{ status, text }` of its response, after redirects. Rejects with
 * `ConnectionLost`, and never settles after `signal` aborts. Calls `onSent` with the bytes sent so far, which only
 * `XMLHttpRequest` reports.
 */
function exchange(method, url, body, { onSent = () => {}, type, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.setRequestHeader("Accept", "application/json");
    if (type) request.setRequestHeader("Content-Type", type);
    request.upload.addEventListener("progress", ({ loaded }) => onSent(loaded));
    request.addEventListener("error", () => reject(new ConnectionLost("The connection was lost. Upload the file again.")));
    request.addEventListener("load", () => resolve({ status: request.status, text: request.responseText }));
    signal?.addEventListener("abort", () => request.abort());
    if (!signal?.aborted) request.send(body);
  });
}

/** Uploads a file in parts, resuming an unfinished upload. Returns the last response. */
async function sendInParts(uploads, file, watched) {
  const { signal } = watched;
  const unfinished = stored(file);
  if (unfinished) {
    const answer = await sendRest(unfinished, file, watched);
    if (answer.status !== 404) return answer;
  }
  const started = await repeated(() => exchange("POST", uploads, null, { signal }));
  if (started.status !== 201) return started;
  const { address, partBytes } = JSON.parse(started.text);
  return sendRest({ address, partBytes, tags: [], at: Date.now() }, file, watched);
}

/** Sends the missing parts and completes the upload. */
async function sendRest(upload, file, { onSent, signal, alt }) {
  const { address, partBytes, tags } = upload;
  for (let start = tags.length * partBytes; start < file.size; start += partBytes) {
    const part = file.slice(start, start + partBytes);
    const watched = { onSent: (bytes) => onSent(start + Math.min(bytes, part.size)), signal };
    onSent(start);
    const answer = await repeated(() => exchange("PUT", `${address}/${tags.length + 1}`, part, watched));
    if (answer.status !== 200) return forgotten(answer);
    tags.push(JSON.parse(answer.text).etag);
    store({ name: identityOf(file), ...upload });
  }
  const body = JSON.stringify({ parts: tags });
  return forgotten(await repeated(() => created(address, file, body, { type: "application/json", signal, alt })));
}

/** Repeats a request while the connection or the service fails. */
async function repeated(request) {
  for (const pause of PAUSES) {
    try {
      const answer = await request();
      if (answer.status < 500) return answer;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return request();
}

const identityOf = ({ name, size, lastModified }) => `${lastModified} ${size} ${name}`;

/** Returns the unfinished upload of a file, or null. */
function stored(file) {
  try {
    const { name, ...upload } = JSON.parse(localStorage.getItem(KEY));
    return name === identityOf(file) && Date.now() - upload.at < RESUMABLE && Array.isArray(upload.tags) ? upload : null;
  } catch {
    return null; // nothing is stored, or something else
  }
}

/** Stores the unfinished upload; null removes it. Without storage the upload cannot be resumed. */
function store(upload) {
  try {
    if (upload) localStorage.setItem(KEY, JSON.stringify(upload));
    else localStorage.removeItem(KEY);
  } catch {
    // Storage is full or forbidden.
  }
}

function forgotten(answer) {
  store(null);
  return answer;
}
