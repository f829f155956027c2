// Finds what a selector of the request matches, in shadow trees, too. Frames are not searched. `purpose` is "hide" to hide
// all of it, "show" or "from" to note for words.js that the first element is shown alone or that the picture begins at its
// top, or "wait".
//
// Returns `valid`, which is false for a text that is no selector, and the box of the first element that has one, in CSS
// px from the top left of the window, or null.
({ selector, purpose }) => {
  try {
    new DocumentFragment().querySelector(selector);
  } catch {
    return { valid: false, box: null };
  }
  const trees = [document, ...elements().map(shadowTree).filter(Boolean)];
  const found = trees.flatMap((tree) => [...tree.querySelectorAll(selector)]);
  if (purpose === 'hide') {
    for (const element of found) {
      // A form field named "style" replaces the property of its form.
      const { prototype } = element instanceof SVGElement ? SVGElement : HTMLElement;
      const { get } = Object.getOwnPropertyDescriptor(prototype, 'style');
      try { get.call(element).setProperty('display', 'none', 'important'); } catch { /* it has no style */ }
    }
    return { valid: true, box: null };
  }
  const first = found.find((element) => Element.prototype.getClientRects.call(element).length > 0);
  if (!first) return { valid: true, box: null };
  if (purpose === 'show') state.shown = first;
  if (purpose === 'from') state.from = first;
  const { left, top, right, bottom } = Element.prototype.getBoundingClientRect.call(first);
  return { valid: true, box: { left, top, right, bottom } };
}
