// Returns the edges of the page's content at the left and right, in CSS px from the window's left edge. Menus that wait
// beside the window are not content.
() => {
  // A page that is a little too wide for the window has scroll bars by mistake.
  const mistake = 32;
  // Up to this number of boxes beside the window are menus. More are a drawing made of boxes, unless they are farther
  // apart: text for screen readers is far away.
  const [maxMenus, maxGap] = [3, 200];
  const window_ = { left: 0, right: innerWidth };
  const unite = (a, b) => ({ left: Math.min(a.left, b.left), right: Math.max(a.right, b.right) });
  const isOutside = ({ left, right }) => left >= innerWidth - 1 || right <= 1;
  const isWithin = ({ left, right }) => left >= -1 && right <= innerWidth + 1;
  const replaced = /^(img|svg|canvas|video|iframe|object|embed|input|button|select|textarea|hr)$/;

  // Returns the horizontal extent of an element's own text.
  const text = (element) => {
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
  const isPainted = (element, { backgroundColor, backgroundImage, borderStyle }) =>
    replaced.test(element.localName) || backgroundImage !== 'none' || borderStyle !== 'none' ||
    !/^(transparent|rgba\(.*, 0\))$/.test(backgroundColor);

  const measure = () => {
    window.scrollTo({ left: 0, top: 0, behavior: 'instant' });
    if ((document.scrollingElement ?? root).scrollWidth <= innerWidth + mistake) return window_;
    const style = getComputedStyle(root);
    const { overflowX } = bodyScrolls() || !document.body ? style : getComputedStyle(document.body);
    if (['hidden', 'clip'].includes(overflowX)) return window_;

    let content = window_;
    const menus = [];
    // For each element that has been visited: what it clips its children to, or null for what is not content.
    const clips = new Map();
    for (const element of elements()) {
      const above = parent(element);
      const clip = above ? clips.get(above) ?? null : { left: -Infinity, right: Infinity };
      clips.set(element, null);
      const style = getComputedStyle(element);
      if (!clip || style.display === 'none' || style.position === 'fixed' || Number(style.opacity) === 0) continue;
      const { left, right, width, height } = element.getBoundingClientRect();
      const box = { left: Math.max(left, clip.left), right: Math.min(right, clip.right) };
      const isMoved = style.position !== 'static' || style.transform !== 'none' || style.translate !== 'none';
      const leaves = isMoved && above && isWithin(above.getBoundingClientRect());
      if (leaves && width > 0 && isOutside(box)) {
        if (box.left < box.right) menus.push(box);
        continue;
      }
      const ofWindow = element === root || element === document.body && !bodyScrolls();
      clips.set(element, isVisible(style.overflowX) || ofWindow ? clip : box);
      if (style.visibility !== 'visible' || element === root || element === document.body) continue;
      // A box without content that leaves the window is a decoration.
      const counts = leaves ? replaced.test(element.localName) : isPainted(element, style);
      if (counts && width > 0 && height > 0 && box.left < box.right) content = unite(content, box);
      const mayBeWide = element.scrollWidth > element.clientWidth || !isWithin({ left, right });
      const own = mayBeWide && isVisible(style.overflowX) ? text(element) : null;
      if (own) content = unite(content, { left: Math.max(own.left, clip.left), right: Math.min(own.right, clip.right) });
    }
    if (menus.length > maxMenus) {
      const distance = ({ left, right }) => Math.max(left - innerWidth, -right);
      const nextTo = ({ left, right }) => left - content.right < maxGap && content.left - right < maxGap;
      for (const box of menus.sort((a, b) => distance(a) - distance(b))) if (nextTo(box)) content = unite(content, box);
    }
    return {
      left: content.left < -mistake ? Math.floor(content.left) : 0,
      right: content.right > innerWidth + mistake ? Math.ceil(content.right) : innerWidth,
    };
  };

  try {
    return measure();
  } catch {
    return window_; // the page has elements that throw
  }
}
