// The texts for a content that is not shown, or not yet: pure, one sentence for each case.
// `edge/tests/failure_codes.rs` asks for the words of each failure code.

const STAGES = {
  queued: "Waiting for its turn",
  downloading: "Downloading the source",
  rendering: "Rendering the tiles",
  publishing: "Storing the last tiles",
};

const FAILURES = {
  "source-not-found": "The address does not exist",
  "source-unreachable": "The address could not be reached",
  "source-forbidden": "The address may not be read",
  "source-too-large": "The file is too large",
  "unsupported-format": "This is not a picture, document or web page",
  "corrupt-source": "The file is damaged",
  "too-many-pixels": "The picture has too many pixels",
  "too-complex": "The picture takes too much computing",
  "timed-out": "It took too long",
  internal: "Something went wrong on our side",
};

/** Failures that may pass without a change of the source, so that trying again makes sense. */
const TRANSIENT = new Set(["source-unreachable", "timed-out", "internal"]);

/** The words for a stage. */
export function stageWords(stage) {
  return STAGES[stage] ?? "Working on it";
}

/** The words for a failure: `{ title, text, canRetry }`, for an update that is neither `ready` nor `processing`. */
export function problemWords({ kind, content }) {
  if (kind === "missing") {
    return { title: "There is no picture here", text: "The link is incomplete, or its picture was never requested.", canRetry: false };
  }
  if (kind === "unreachable") {
    return { title: "No connection", text: "The picture's server does not answer.", canRetry: true };
  }
  const { code, message } = content.failure ?? { code: "internal", message: "" };
  return { title: FAILURES[code] ?? FAILURES.internal, text: message, canRetry: TRANSIENT.has(code) };
}

/** Characters that are invisible or reverse the direction of the text around them (UTS #55). */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** The name of a source: that of its file, or its host. */
export function nameOf(url) {
  const { pathname, hostname } = new URL(url);
  const file = pathname.split("/").findLast(Boolean);
  if (!file) return hostname;
  try {
    const decoded = decodeURIComponent(file);
    return HIDDEN.test(decoded) ? file : decoded;
  } catch {
    return file; // not UTF-8
  }
}
