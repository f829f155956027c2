// What a key means to a viewer. OpenSeadragon's own keys are switched off: they go by the key's place on an American
// keyboard, know no number pad, and take `f` for mirroring.

const ACTIONS = new Map(Object.entries({
  ArrowLeft: { pan: [-1, 0] },
  ArrowRight: { pan: [1, 0] },
  ArrowUp: { pan: [0, -1] },
  ArrowDown: { pan: [0, 1] },
  "+": { press: "zoomIn" },
  "=": { press: "zoomIn" },
  "-": { press: "zoomOut" },
  _: { press: "zoomOut" },
  0: { press: "home" },
  Home: { press: "home" },
  r: { press: "rotate" },
  f: { press: "fullscreen" },
}));

/**
 * What a key press asks for: `{ pan: [right, down] }`, `{ press: <name of a control> }`, or null. Combinations belong to
 * the browser; the arrows move the picture only where the picture itself has the focus.
 */
export function keyAction({ key, ctrlKey, metaKey, altKey }, onPicture) {
  if (ctrlKey || metaKey || altKey) return null;
  const action = ACTIONS.get(key) ?? ACTIONS.get(key.toLowerCase()) ?? null;
  return action?.pan && !onPicture ? null : action;
}
