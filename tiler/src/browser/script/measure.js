// Returns the edges of the page's content at the left and right, in CSS px from the window's left edge. Menus that wait
// beside the window are not content. From `dom.js`: `root`, `elements`, `parent`, `bodyScrolls` and `isVisible`.
() => {
  // A page that is a little too wide for the window has scroll bars by mistake.
  const mistake = 32;
  // Up to this number of boxes beside the window are menus. More are a drawing made of boxes, unless they are farther
  // apart: text for screen readers is far away.
  const [maxMenus, maxGap] = [3, 200];
  const window_ = { left: 0, right: innerWidth };
  const everywhere = { left: -Infinity, right: Infinity };
  const replaced = /^(img|svg|canvas|video|iframe|object|embed|input|button|select|textarea|hr)$/;

  const unite = (a, b) => ({ left: Math.min(a.left, b.left), right: Math.max(a.right, b.right) });
  const intersect = (a, b) => ({ left: Math.max(a.left, b.left), right: Math.min(a.right, b.right) });
  const isOutside = ({ left, right }) => left >= innerWidth - 1 || right <= 1;
  const isWithin = ({ left, right }) => left >= -1 && right <= innerWidth + 1;
  // Returns true for the elements whose overflow is the window's.
  const isWindow = (element) => element === root || element === document.body && !bodyScrolls();

  // Returns true if a visitor can scroll to what is beside the window.
  const scrollsAcross = () => {
    if ((document.scrollingElement ?? root).scrollWidth <= innerWidth + mistake) return false;
    const { overflowX } = getComputedStyle(bodyScrolls() || !document.body ? root : document.body);
    return !['hidden', 'clip'].includes(overflowX);
  };
  const isHidden = ({ display, position, opacity }) => display === 'none' || position === 'fixed' || Number(opacity) === 0;
  // Returns true if an element may be moved out of a box in the window, as menus and decorations are.
  const isMovedOut = (above, { position, transform, translate }) =>
    (position !== 'static' || transform !== 'none' || translate !== 'none') && above && isWithin(above.getBoundingClientRect());
  const isPainted = (element, { backgroundColor, backgroundImage, borderStyle }) =>
    replaced.test(element.localName) || backgroundImage !== 'none' || borderStyle !== 'none' ||
    !/^(transparent|rgba\(.*, 0\))$/.test(backgroundColor);

  // Returns the horizontal extent of an element's own text that leaves the window, or null.
  const textBeside = (element, box, { overflowX }) => {
    const mayBeWide = element.scrollWidth > element.clientWidth || !isWithin(box);
    if (!mayBeWide || !isVisible(overflowX)) return null;
    const range = document.createRange();
    let extent = null;
    for (const node of element.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      range.selectNodeContents(node);
      const { left, right, width } = range.getBoundingClientRect();
      if (width > 0) extent = extent ? unite(extent, { left, right }) : { left, right };
    }
    return extent;
  };

  // Returns the content with those menus that are a part of it, if they are so many that they are a drawing.
  const withDrawing = (content, menus) => {
    if (menus.length <= maxMenus) return content;
    const distance = ({ left, right }) => Math.max(left - innerWidth, -right);
    const isNear = (drawn, { left, right }) => left - drawn.right < maxGap && drawn.left - right < maxGap;
    const nearest = menus.sort((a, b) => distance(a) - distance(b));
    return nearest.reduce((drawn, box) => isNear(drawn, box) ? unite(drawn, box) : drawn, content);
  };

  const measure = () => {
    window.scrollTo({ left: 0, top: 0, behavior: 'instant' });
    if (!scrollsAcross()) return window_;
    let content = window_;
    const menus = [];
    // For each element that has been visited: what it clips its children to, or null for what is not content.
    const clips = new Map();
    for (const element of elements()) {
      const above = parent(element);
      const clip = above ? clips.get(above) ?? null : everywhere;
      clips.set(element, null);
      const style = getComputedStyle(element);
      if (!clip || isHidden(style)) continue;
      const whole = element.getBoundingClientRect();
      const box = intersect(whole, clip);
      const isOut = isMovedOut(above, style);
      if (isOut && whole.width > 0 && isOutside(box)) {
        if (box.left < box.right) menus.push(box);
        continue;
      }
      clips.set(element, isVisible(style.overflowX) || isWindow(element) ? clip : box);
      if (style.visibility !== 'visible' || element === root || element === document.body) continue;
      // A box without content that leaves the window is a decoration.
      const counts = isOut ? replaced.test(element.localName) : isPainted(element, style);
      if (counts && whole.width > 0 && whole.height > 0 && box.left < box.right) content = unite(content, box);
      const text = textBeside(element, whole, style);
      if (text) content = unite(content, intersect(text, clip));
    }
    const { left, right } = withDrawing(content, menus);
    return {
      left: left < -mistake ? Math.floor(left) : 0,
      right: right > innerWidth + mistake ? Math.ceil(right) : innerWidth,
    };
  };

  try {
    return measure();
  } catch {
    return window_; // the page has elements that throw
  }
}
