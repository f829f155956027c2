// Follows a content by its stream of server-sent events.

import { updateOf } from "./api.js";

/**
 * Calls `onUpdate` with each change of the content at `address`. Resolves to true when the content is finished, and to
 * false when there is no stream or it broke off: then the caller has to poll.
 */
export function followEvents(address, onUpdate, signal) {
  return new Promise((resolve) => {
    const stream = new EventSource(`${address}/events`);
    const end = (finished) => {
      stream.close();
      resolve(finished);
    };
    stream.addEventListener("message", ({ data }) => {
      const update = updateOf(JSON.parse(data));
      if (update.kind !== "processing") end(true);
      onUpdate(update);
    });
    // The browser would reconnect for ever. A request by the caller distinguishes a service that is down from a stream
    // that ended.
    stream.addEventListener("error", () => end(false));
    signal.addEventListener("abort", () => end(true));
  });
}
