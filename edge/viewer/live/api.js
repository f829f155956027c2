// Requests contents from the interface, and turns responses into updates: the states of a content that a reader can
// see.

/**
 * The update for a content object. `kind` is `processing`, `ready`, `failed`, `missing` (no such content),
 * `taken-down` (by the operator, `text` says why) or `unreachable` (no usable response); `content` is the content object of
 * the first three.
 */
export function updateOf(content) {
  if (content.ready && content.dzi) return { kind: "ready", content };
  return { kind: content.failed ? "failed" : "processing", content };
}

/** Requests the content at an address of the interface. Throws only when `signal` aborts. */
export async function fetchContent(address, { signal, revalidate = false } = {}) {
  try {
    const headers = { Accept: "application/json" };
    const response = await fetch(address, { headers, signal, cache: revalidate ? "no-cache" : "default" });
    if (response.status === 404) return { kind: "missing" };
    if (response.status === 410) return { kind: "taken-down", text: await response.text() };
    return response.ok ? updateOf(await response.json()) : { kind: "unreachable" };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { kind: "unreachable" };
  }
}

/** Requests that the content at an address is tried again, which the interface permits once a minute. `refused` says
 * that it was too soon. */
export async function fetchRetried(address) {
  const update = await fetchContent(`${address}?retry=1`, { revalidate: true });
  return update.kind === "failed" ? { ...update, refused: true } : update;
}
