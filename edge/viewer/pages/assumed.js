// The scheme of a source whose URL was entered without one. The home page tries https; if that does not work, this
// script has the service try http. The page says what was assumed.

import { element } from "../dom.js";

/**
 * Failures that a server without https, or with another site there, causes. `edge/src/tests/failure_codes.rs` asks for
 * each code.
 */
const CURABLE = ["source-unreachable", "source-not-found", "timed-out"];
const WORDS = {
  https: "https:// was assumed.",
  trying: "https:// does not work. Trying http:// …",
  http: "https:// did not work, so http:// is used.",
};

/**
 * Reads the assumption from the page's URL and removes it there. Returns the option `takeOver` of `mountContent` for
 * the content at an API URL; null if nothing was assumed.
 */
export function schemeAssumption(address) {
  const url = new URL(location.href);
  let state = url.searchParams.get("assumed");
  if (!["http", "https"].includes(state)) return null;
  url.searchParams.delete("assumed");
  history.replaceState(history.state, "", url);
  const note = element("p", { id: "assumed", role: "status" }, WORDS[state]);
  document.querySelector(".about").append(note);

  let latest = null;
  return function takeOver(update, display) {
    latest = update;
    if (state === "trying") return true;
    if (state !== "https" || !isCurable(update)) return false;
    state = "trying";
    note.textContent = WORDS.trying;
    shareUrlByHttp(address, update.content).then(
      (shareUrl) => location.replace(`${shareUrl}?assumed=http`),
      () => {
        state = "https only";
        note.textContent = WORDS.https;
        display(latest);
      },
    );
    return true;
  };
}

function isCurable({ content }) {
  return CURABLE.includes((content?.failure ?? content?.retry)?.code);
}

/** Creates the content of the same source by http, and returns the URL of its page. Rejects if the service refuses. */
async function shareUrlByHttp(address, { url, options = "" }) {
  const query = `?url=${encodeURIComponent(url.replace(/^https:/, "http:"))}&${options}`;
  const answer = await fetch(new URL(query, new URL(".", address)), { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(await answer.text());
  const { shareUrl } = await answer.json();
  return shareUrl;
}
