// What the scripts share: the elements of a page with those in shadow trees, and the places of boxes.

// Maximum number of elements whose style is computed.
const maxElements = 20000;

// What one script leaves for the next. A symbol, because a name may be that of an element or frame of the page.
const state = globalThis[Symbol.for('edgezoom')] ??= {
  closedTrees: new WeakMap(), // shadow trees that are closed to scripts, by their hosts
  unlocked: false, // a consent banner is hidden, which may have kept the page from scrolling
  expanded: new WeakSet(), // elements with a new height
  heights: new Map(), // heights and overflow of other elements
  frame: null, hiddenBox: null, hosts: [], // what the caller has to examine
  shown: null, // the element that is shown instead of the whole page
  from: null, // the element at whose top the picture begins
};

const shadowTree = (element) => element.shadowRoot ?? state.closedTrees.get(element);
const isFrame = (element) => ['iframe', 'frame', 'object', 'embed'].includes(element.localName);

// Returns the elements in a document or element in order, those of a shadow tree after their host.
const elements = (within = document) => {
  const found = [];
  const add = (tree) => {
    for (const element of tree.querySelectorAll('*')) {
      if (found.length >= maxElements) return;
      found.push(element);
      const shadow = shadowTree(element);
      if (shadow) add(shadow);
    }
  };
  const shadow = shadowTree(within);
  if (shadow) add(shadow);
  add(within);
  return found;
};

// Returns the parent in the tree as it is drawn, in which a slot contains what is assigned to it.
const parent = (element) => {
  const tree = element.parentElement && state.closedTrees.get(element.parentElement);
  const slots = tree ? [...tree.querySelectorAll('slot')] : [];
  return element.assignedSlot ?? slots.find((slot) => slot.assignedNodes().includes(element)) ??
    element.parentElement ?? element.getRootNode().host ?? null;
};

const set = (element, styles) => {
  for (const [name, value] of Object.entries(styles)) {
    if (element.style.getPropertyPriority(name) !== 'important' || element.style.getPropertyValue(name) !== value) {
      element.style.setProperty(name, value, 'important');
    }
  }
};

// Returns the part of a rectangle that is in the window, as a fraction of the window.
const visiblePart = ({ left, right, top, bottom }) => {
  const width = Math.min(right, innerWidth) - Math.max(left, 0);
  const height = Math.min(bottom, innerHeight) - Math.max(top, 0);
  return width > 0 && height > 0 ? width * height / (innerWidth * innerHeight) : 0;
};

const root = document.documentElement;
const isVisible = (overflow) => overflow === 'visible';

// Returns true if the body has its own overflow: only one element's applies to the window, the root's if it has any.
const bodyScrolls = () => {
  const { overflowX, overflowY } = getComputedStyle(root);
  return !isVisible(overflowX) || !isVisible(overflowY);
};

// Returns the height of the content of the window.
const pageHeight = () => {
  if (document.body?.localName === 'frameset') return innerHeight;
  return (document.scrollingElement ?? root).scrollHeight;
};
