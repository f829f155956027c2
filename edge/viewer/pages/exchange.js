// One request with a body, whose way can be watched. Only `XMLHttpRequest` says how much of a body has been sent.

/** The service does not answer; says so to people. */
export class Unanswered extends Error {}

/**
 * Sends a body. Gives `{ status, text }` of the answer to which redirects lead; fails with `Unanswered` when there is none, and never
 * ends once `signal` is aborted. `onSent` is told the bytes.
 */
export function exchange(method, address, body, { onSent = () => {}, type, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    request.setRequestHeader("Accept", "application/json");
    if (type) request.setRequestHeader("Content-Type", type);
    request.upload.addEventListener("progress", ({ loaded }) => onSent(loaded));
    request.addEventListener("error", () => reject(new Unanswered("The connection broke off.")));
    request.addEventListener("load", () => resolve({ status: request.status, text: request.responseText }));
    signal?.addEventListener("abort", () => request.abort());
    if (!signal?.aborted) request.send(body);
  });
}
