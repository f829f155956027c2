// The home page's form works without this script, which accepts an address that is pasted anywhere or has no
// `https://`, and shows on the button that the form was sent.

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

// The browser's back button may restore the page with the changed button.
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
