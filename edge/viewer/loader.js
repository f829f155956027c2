(function embed(setting) {
  // The embed script's loader: `/<id>.js` calls this function with its setting. It reserves the viewer's place, and imports
  // the viewer when the reader comes near. It leaves no global and does not care how it got into the page.
  const script = document.currentScript;

  function begin() {
    const host = document.createElement("div");
    host.style.width = setting.width === "auto" ? "100%" : setting.width;
    host.style.height = setting.height;
    if (setting.height === "auto") host.style.aspectRatio = "4 / 3";
    host.style.display = "block";
    const target = setting.element && document.getElementById(setting.element);
    if (target) target.append(host);
    else if (script && script.isConnected && document.body && document.body.contains(script)) script.after(host);
    else document.body.append(host);

    new IntersectionObserver(function (entries, observer) {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      import(setting.viewer).then(({ mount }) => mount(host, { content: setting.content }));
    }, { rootMargin: "50%" }).observe(host);
  }

  const ready = setting.element ? document.getElementById(setting.element) : document.body;
  if (ready) begin();
  else document.addEventListener("DOMContentLoaded", begin, { once: true });
})
