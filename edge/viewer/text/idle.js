// Long work in pieces, while the browser is idle.

/** Maximum time of a piece: the layout of what it creates takes longer still. */
const PIECE_MS = 6;

// Safari has no idle callbacks.
const request = globalThis.requestIdleCallback ?? ((callback) => setTimeout(callback, 30, { timeRemaining: () => PIECE_MS }));
const cancel = globalThis.cancelIdleCallback ?? clearTimeout;

/** Calls `work` with each entry of an iterable, in pieces. Returns a function that stops it. */
export function inPieces(entries, work) {
  const rest = entries[Symbol.iterator]();
  let waiting = request(piece);
  function piece(deadline) {
    const end = performance.now() + PIECE_MS;
    do {
      const { done, value } = rest.next();
      if (done) return;
      work(value);
    } while (performance.now() < end && deadline.timeRemaining() > 1);
    waiting = request(piece);
  }
  return () => cancel(waiting);
}
