// Finishes running animations. Infinite animations are left running, to be paused later. Shows elements that appeared
// while the page was scrolled, even if they have disappeared since, or will when the page notices late that it was
// scrolled back. Hides text for browsers without scripts, which Chromium lays out once scripts are disabled.
async () => {
  for (const animation of document.getAnimations()) {
    try { animation.finish(); } catch { /* it is infinite */ }
  }
  // A hidden element in view is hidden for another reason.
  const below = [...globalThis[Symbol.for('edgezoom search')]?.shown ?? []].filter(([element]) => element.getBoundingClientRect().bottom > innerHeight);
  const looks = below.map(([element, was]) => {
    const { opacity, visibility, transform } = getComputedStyle(element);
    if (opacity >= was.opacity - 0.05 && visibility === 'visible') return [element, { opacity, transform }];
    // Else its transition was not complete.
    return [element, was.opacity >= 0.5 ? was : { opacity: 1, transform: 'none' }];
  });
  for (const [element, { opacity, transform }] of looks) {
    const styles = { visibility: 'visible', transition: 'none', animation: 'none', opacity, transform };
    for (const [name, value] of Object.entries(styles)) {
      try { element.style.setProperty(name, value, 'important'); } catch { /* a form field named "style" replaces the property */ }
    }
  }
  for (const { style } of document.getElementsByTagName('noscript')) style.setProperty('display', 'none', 'important');
  return { title: document.title, url: location.href };
}
