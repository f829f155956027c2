// The texts for a content that has no picture, or none yet. `edge/src/tests/failure_codes.rs` checks that each failure
// code has one.

const STAGES = {
  building: "The renderer is still being built", // only from a local service (`edge/local/`)
  queued: "Waiting in the queue",
  waiting: "Waiting for the next try",
  downloading: "Downloading the source",
  rendering: "Rendering tiles",
  publishing: "Saving the last tiles",
};

const FAILURES = {
  "source-not-found": "The source does not exist",
  "source-unreachable": "The source cannot be reached",
  "source-forbidden": "Access to the source is denied",
  "source-excluded": "The site does not allow this",
  "source-too-large": "The file is too large",
  "unsupported-format": "The file format is not supported",
  "corrupt-source": "The file is damaged",
  "too-many-pixels": "The picture has too many pixels",
  "too-complex": "The picture is too complex",
  "timed-out": "The conversion took too long",
  "no-such-element": "The page has no such element",
  internal: "Something went wrong on our side",
};

/** Advice for fixing the source. */
const ADVICE = {
  "source-not-found": "Open the URL in a browser to check it.",
  "source-unreachable": "Open the URL in a browser to check that its server is up.",
  "source-forbidden": "Make the file available without signing in.",
  "source-excluded": "Ask the site's owner, or use another copy of the file.",
  "source-too-large": "Compress the file more, or split it.",
  "unsupported-format": "Convert the file to a common format, such as JPEG, PNG, TIFF or PDF.",
  "corrupt-source": "Export the file again, or use another copy.",
  "too-many-pixels": "Reduce the picture's size, or split it.",
  "too-complex": "Simplify the drawing, or export it as an image, such as PNG.",
  "timed-out": "Move the file to a faster server.",
  "no-such-element": "Try the selector in a browser's developer tools, then change it.",
};

export function stageWords(stage) {
  return STAGES[stage] ?? "Working on it";
}

/**
 * Returns the reason why a content waits for its next attempt, as a heading, and a sentence if the service gave one.
 */
export function waitingWords({ code, message }) {
  return { title: FAILURES[code] ?? FAILURES.internal, text: message };
}

/** Returns when the next attempt is, and how many follow. */
export function nextTryWords(seconds, attemptsLeft) {
  if (seconds <= 0) return "Trying …";
  const minutes = Math.floor(seconds / 60);
  const time = `${minutes > 0 ? `${minutes}\u00a0min ` : ""}${seconds % 60}\u00a0s`;
  if (attemptsLeft === 1) return `Last try in ${time}.`;
  return `Next try in ${time}${attemptsLeft > 1 ? `, then up to ${attemptsLeft - 1} more` : ""}.`;
}

/** Formats a time in seconds, rounded up. */
function duration(seconds) {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return "a minute";
  if (minutes < 120) return `${minutes} minutes`;
  const hours = Math.ceil(minutes / 60);
  return hours < 48 ? `${hours} hours` : `${Math.ceil(hours / 24)} days`;
}

/** A retry was refused: it is possible once a minute. */
export const TOO_SOON = "You can retry in a minute.";

/**
 * Returns when a failed content can be retried. A manual retry is possible once a minute: `refused` is true if it was
 * too soon.
 */
function retryWords(url, retryAfter, refused) {
  if (isFile(url)) return "The uploaded file is deleted. Upload it again to retry.";
  if (refused) return TOO_SOON;
  return retryAfter ? `You can retry now. In ${duration(retryAfter)}, reloading this page retries too.` : "";
}

/** Returns `{ title, text, advice, when, canRetry }` for an update that is neither `ready` nor `processing`. */
export function problemWords({ kind, content, text = "", refused = false }) {
  if (kind === "missing") return { title: "There is no picture here", text: "The link may be incomplete.", canRetry: false };
  if (kind === "removed") return { title: "Removed", text, canRetry: false };
  if (kind === "unreachable") return { title: "No connection", text: "The server does not respond.", canRetry: true };
  const { url, failure: { code, message, retryAfter } = { code: "internal", message: "" } } = content;
  return {
    title: FAILURES[code] ?? FAILURES.internal,
    text: message,
    advice: ADVICE[code] ?? "",
    when: retryWords(url, retryAfter, refused),
    canRetry: !isFile(url),
  };
}

/** Matches characters that are invisible or reverse the direction of text (UTS #55). */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/**
 * Returns true if a source is an uploaded file. Its URL has the digest of its bytes (RFC 6920) and cannot be opened.
 */
export const isFile = (url) => url?.startsWith("ni:") ?? false;

/** Returns the name of a source: that of its file, or its host. */
export function nameOf(url) {
  const { pathname, hostname, search } = new URL(url);
  const file = isFile(url) ? /[?&]name=(.+)/.exec(search)?.[1] : pathname.split("/").findLast(Boolean);
  if (!file) return hostname || "Uploaded file";
  try {
    const decoded = decodeURIComponent(file);
    return HIDDEN.test(decoded) ? file : decoded;
  } catch {
    return file; // not UTF-8
  }
}
