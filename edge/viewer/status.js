// What is shown in the picture's place while there is none: how far it is, or why there will be none.

const STAGES = {
  queued: "Waiting for its turn",
  downloading: "Downloading",
  rendering: "Cutting into tiles",
  publishing: "Almost there",
};

/** A panel with its element, and `show`, which takes a content object that is not ready. */
export function statusPanel() {
  const element = document.createElement("div");
  element.className = "status";
  const text = document.createElement("p"); // read out when it changes
  text.setAttribute("role", "status");
  text.setAttribute("aria-live", "polite");
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", "Progress");
  const detail = document.createElement("p");
  detail.className = "detail";
  element.append(text, bar, detail);

  return {
    element,
    show(content) {
      bar.hidden = Boolean(content.failed);
      element.classList.toggle("failed", Boolean(content.failed));
      if (content.failed) {
        set(text, "This picture cannot be shown.");
        set(detail, content.failure?.message ?? "");
      } else if (content.unreachable) {
        set(text, "The service does not answer. Trying again …");
      } else {
        set(text, STAGES[content.stage] ?? "Preparing");
        set(detail, content.url ?? "");
        if (content.stage === "queued" && content.progress === 0) bar.removeAttribute("value");
        else bar.value = content.progress;
      }
    },
  };
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text; // the same text is not to be read out again
}
