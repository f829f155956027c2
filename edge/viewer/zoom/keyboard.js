// The keys of the viewer. OpenSeadragon's own are switched off: they depend on the position of keys on an American
// keyboard, ignore the number pad, and mirror the picture with `f`.

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
 * The action of a key press: `{ pan: [right, down] }`, `{ press: <name of a control> }`, or null. Combinations belong
 * to the browser; the arrows move the picture only where the picture itself has the focus.
 */
export function keyAction({ key, ctrlKey, metaKey, altKey }, onPicture) {
  if (ctrlKey || metaKey || altKey) return null;
  const action = ACTIONS.get(key) ?? ACTIONS.get(key.toLowerCase()) ?? null;
  return action?.pan && !onPicture ? null : action;
}
