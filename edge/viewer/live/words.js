// The texts for a content that is not shown, or not yet: pure, one sentence for each case.
// `edge/tests/failure_codes.rs` asks for the words of each failure code.

const STAGES = {
  queued: "Waiting for its turn",
  waiting: "The source does not answer now. Trying again in a few minutes",
  downloading: "Downloading the source",
  rendering: "Rendering the tiles",
  publishing: "Storing the last tiles",
};

const FAILURES = {
  "source-not-found": "The address does not exist",
  "source-unreachable": "The address could not be reached",
  "source-forbidden": "The address may not be read",
  "source-excluded": "The site does not allow it",
  "source-too-large": "The file is too large",
  "unsupported-format": "This is not a picture, document or web page",
  "corrupt-source": "The file is damaged",
  "too-many-pixels": "The picture has too many pixels",
  "too-complex": "The picture takes too much computing",
  "timed-out": "It took too long",
  internal: "Something went wrong on our side",
};

/** What to do about the source. */
const ADVICE = {
  "source-not-found": "Open the address in a browser to see whether it is right.",
  "source-unreachable": "Open the address in a browser to see whether its server is up.",
  "source-forbidden": "Put the file on the public internet, where it can be read without signing in.",
  "source-excluded": "Ask the site's owner, or take another copy of it.",
  "source-too-large": "Compress it more, or cut it into several files.",
  "unsupported-format": "Convert it to a usual format first, such as JPEG, PNG, TIFF or PDF.",
  "corrupt-source": "Export or upload the file again.",
  "too-many-pixels": "Make it smaller, or cut it into several files.",
  "too-complex": "Draw it more simply, or export it as a picture, such as PNG.",
  "timed-out": "Put the file on a quicker server.",
};

/** The words for a stage. */
export function stageWords(stage) {
  return STAGES[stage] ?? "Working on it";
}

/** The words for a time that begins now, in seconds: never sooner than it is over. */
function inWords(seconds) {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return "a minute";
  if (minutes < 120) return `${minutes} minutes`;
  const hours = Math.ceil(minutes / 60);
  return hours < 48 ? `${hours} hours` : `${Math.ceil(hours / 24)} days`;
}

/** When a failed content is tried again. `refused`: a client has just asked for that in vain. */
function retryWords(seconds, refused) {
  const first = refused ? "It was tried less than a minute ago. " : "";
  return seconds ? `${first}It is tried again when it is opened in ${inWords(seconds)} or later.` : first.trim();
}

/** The words for a failure: `{ title, text, advice, when, canRetry }`, for an update that is neither `ready` nor `processing`. */
export function problemWords({ kind, content, text = "", refused = false }) {
  if (kind === "missing") {
    return { title: "There is no picture here", text: "The link is incomplete, or its picture was never requested.", when: "", canRetry: false };
  }
  if (kind === "taken-down") return { title: "Taken down", text, when: "", canRetry: false };
  if (kind === "unreachable") {
    return { title: "No connection", text: "The picture's server does not answer.", when: "", canRetry: true };
  }
  const { code, message, retryAfter } = content.failure ?? { code: "internal", message: "" };
  const advice = ADVICE[code] ?? "";
  if (isFile(content.url)) {
    return { title: FAILURES[code] ?? FAILURES.internal, text: message, advice, when: "The file is not kept. Send it again to try once more.", canRetry: false };
  }
  const when = retryWords(retryAfter, refused);
  return { title: FAILURES[code] ?? FAILURES.internal, text: message, advice, when, canRetry: true };
}

/** Characters that are invisible or reverse the direction of the text around them (UTS #55). */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Whether a source is a file that was sent: then its URL names its bytes (RFC 6920), and leads nowhere. */
export const isFile = (url) => url?.startsWith("ni:") ?? false;

/** The name of a source: that of its file, or its host. */
export function nameOf(url) {
  const { pathname, hostname, search } = new URL(url);
  const file = isFile(url) ? /^\?name=(.+)/.exec(search)?.[1] : pathname.split("/").findLast(Boolean);
  if (!file) return hostname || "A file that was sent";
  try {
    const decoded = decodeURIComponent(file);
    return HIDDEN.test(decoded) ? file : decoded;
  } catch {
    return file; // not UTF-8
  }
}
