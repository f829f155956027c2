// Asks the interface for contents, and puts its answers into the words of this side: what a reader can see of a content.

/**
 * What is known of a content: `kind` is `processing`, `ready`, `failed`, `missing` (there is no such content) or
 * `unreachable` (the interface did not answer sensibly); `content` is the content object of the first three.
 */
export function newsOf(content) {
  if (content.ready && content.dzi) return { kind: "ready", content };
  return { kind: content.failed ? "failed" : "processing", content };
}

/** Asks for the content at an address of the interface. Never throws but when `signal` aborts. */
export async function ask(address, { signal, afresh = false } = {}) {
  try {
    const headers = { Accept: "application/json" };
    const answer = await fetch(address, { headers, signal, cache: afresh ? "no-cache" : "default" });
    if (answer.status === 404) return { kind: "missing" };
    return answer.ok ? newsOf(await answer.json()) : { kind: "unreachable" };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { kind: "unreachable" };
  }
}

/** The address at which asking starts a failed conversion anew, if its time has come. */
export function addressOfSource(address, content) {
  return new URL(`./?url=${encodeURIComponent(content.url)}`, address).href;
}
