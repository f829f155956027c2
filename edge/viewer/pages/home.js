// The home page's form works without this. This makes it forgiving: an address may be pasted anywhere and lack its `https://`, and
// the button says that something is happening.

const form = document.getElementById("ask");
const field = form.elements.url;
const button = form.querySelector("button");
const label = button.textContent;

form.addEventListener("submit", () => {
  const entered = field.value.trim();
  field.value = /^[a-z][a-z0-9+.-]*:/i.test(entered) || entered === "" ? entered : `https://${entered}`;
  button.textContent = "Opening …";
  button.setAttribute("aria-disabled", "true");
});

// Coming back with the browser's back button finds the page as it was left.
addEventListener("pageshow", () => {
  button.textContent = label;
  button.removeAttribute("aria-disabled");
});

document.addEventListener("paste", (event) => {
  const pasted = event.clipboardData?.getData("text/plain").trim() ?? "";
  if (event.target === field || !/^https?:\/\/\S+$/i.test(pasted)) return;
  event.preventDefault();
  field.value = pasted;
  field.focus();
});
