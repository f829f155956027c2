// A content's own stream of events, which tells each change as it happens.

import { newsOf } from "./contents.js";

/**
 * Calls `onNews` with each change of the content at `address`. Resolves to whether it was followed to its end; where there is
 * no stream, or it breaks off, somebody has to ask.
 */
export function listen(address, onNews, signal) {
  return new Promise((resolve) => {
    const stream = new EventSource(`${address}/events`);
    const end = (finished) => {
      stream.close();
      resolve(finished);
    };
    stream.addEventListener("message", ({ data }) => {
      const news = newsOf(JSON.parse(data));
      if (news.kind !== "processing") end(true);
      onNews(news);
    });
    // The browser would open it anew by itself, again and again; asking tells a silent service from an ended stream.
    stream.addEventListener("error", () => end(false));
    signal.addEventListener("abort", () => end(true));
  });
}
