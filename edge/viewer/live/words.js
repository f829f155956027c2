// What is said of a content that cannot be seen, or not yet: pure, one sentence for each case.

const STAGES = {
  queued: "Waiting for its turn",
  downloading: "Fetching the source",
  rendering: "Cutting it into tiles",
  publishing: "Putting the last tiles in place",
};

const FAILURES = {
  "source-not-found": "There is nothing at this address",
  "source-unreachable": "The address could not be reached",
  "source-forbidden": "The address may not be read",
  "source-too-large": "The file is too large",
  "unsupported-format": "This is nothing that can be zoomed",
  "corrupt-source": "The file is damaged",
  "too-many-pixels": "The picture has too many pixels",
  "timed-out": "It took too long",
  internal: "Something went wrong on our side",
};

/** Failures that may pass by themselves, so that trying again makes sense. */
const PASSING = new Set(["source-unreachable", "timed-out", "internal"]);

/** What is being done. */
export function stageWords(stage) {
  return STAGES[stage] ?? "Working on it";
}

/** What went wrong: `{ title, text, canRetry }`, for news that are neither `ready` nor `processing`. */
export function problemWords({ kind, content }) {
  if (kind === "missing") {
    return { title: "There is no picture here", text: "Nobody has asked for it yet, or the link is incomplete.", canRetry: false };
  }
  if (kind === "unreachable") {
    return { title: "No connection", text: "The picture's server does not answer.", canRetry: true };
  }
  const { code, message } = content.failure ?? { code: "internal", message: "" };
  return { title: FAILURES[code] ?? FAILURES.internal, text: message, canRetry: PASSING.has(code) };
}

/** What is not seen, or turns the text around it (UTS #55). */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** What a person would call a source: its file's name, or its host. */
export function nameOf(url) {
  const { pathname, hostname } = new URL(url);
  const file = pathname.split("/").findLast(Boolean);
  if (!file) return hostname;
  try {
    const decoded = decodeURIComponent(file);
    return HIDDEN.test(decoded) ? file : decoded;
  } catch {
    return file; // no UTF-8
  }
}
