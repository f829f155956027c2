// Long work in pieces, while the browser is idle.

/** Time of a piece where there are no idle callbacks, in Safari. */
const PIECE_MS = 8;

function request(callback) {
  if (globalThis.requestIdleCallback) return requestIdleCallback(callback);
  return setTimeout(() => {
    const end = performance.now() + PIECE_MS;
    callback({ timeRemaining: () => end - performance.now() });
  }, 30);
}
const cancel = globalThis.cancelIdleCallback ?? clearTimeout;

/** Calls `work` with each entry of an iterable, in pieces. Returns a function that stops it. */
export function inPieces(entries, work) {
  const rest = entries[Symbol.iterator]();
  let waiting = request(piece);
  function piece(deadline) {
    do {
      const { done, value } = rest.next();
      if (done) return;
      work(value);
    } while (deadline.timeRemaining() > 1);
    waiting = request(piece);
  }
  return () => cancel(waiting);
}
