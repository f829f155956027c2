// Long work in pieces, while the browser is idle.

/** Maximum time of a piece: the layout of what it creates takes longer still. */
const PIECE_MS = 6;

// Safari has no idle callbacks.
const request = globalThis.requestIdleCallback ?? ((callback) => setTimeout(callback, 30, { timeRemaining: () => PIECE_MS }));

/**
 * Returns a function that calls `work` with each entry of an iterable, in pieces. A second call replaces what is left of
 * the first, and keeps its request: in a busy browser, one that is often cancelled and made anew is never answered.
 */
export function whenIdle() {
  let [rest, work] = [[].values(), null];
  let isRequested = false;
  function requestPiece() {
    if (!isRequested) request(piece);
    isRequested = true;
  }
  function piece(deadline) {
    isRequested = false;
    const end = performance.now() + PIECE_MS;
    do {
      const { done, value } = rest.next();
      if (done) return;
      work(value);
    } while (performance.now() < end && deadline.timeRemaining() > 1);
    requestPiece();
  }
  return (entries, workOnEach) => {
    [rest, work] = [entries[Symbol.iterator](), workOnEach];
    requestPiece();
  };
}
