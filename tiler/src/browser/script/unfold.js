// Lays a page out without scrolling: removes scroll snapping and fixed backgrounds. If a box that fills the
// window scrolls instead of the page, expands it to the height of its content, up to `height` CSS px.
async ({ height }) => {
  const maxElements = 20000;
  const set = (element, styles) => {
    for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value, 'important');
  };
  const elements = () => {
    const all = [...document.body.querySelectorAll('*')].slice(0, maxElements);
    return [document.documentElement, document.body, ...all];
  };
  const overflow = (element) => element.scrollHeight - element.clientHeight;

  const removeScrollEffects = () => {
    const found = elements().map((element) => {
      const { backgroundAttachment, backgroundImage, scrollSnapType, scrollBehavior } = getComputedStyle(element);
      const styles = {};
      if (backgroundAttachment.includes('fixed') && backgroundImage !== 'none') styles['background-attachment'] = 'scroll';
      if (!/^(none|x|inline)/.test(scrollSnapType)) styles['scroll-snap-type'] = 'none';
      if (scrollBehavior !== 'auto') styles['scroll-behavior'] = 'auto';
      return [element, styles];
    });
    found.forEach(([element, styles]) => set(element, styles));
  };

  // Returns the box that scrolls instead of the page.
  const scrollingBox = () => {
    const root = document.scrollingElement ?? document.documentElement;
    const own = root.scrollHeight - innerHeight;
    if (own > innerHeight / 4) return null;
    let [best, most] = [null, 0];
    for (const element of elements().slice(2)) {
      const more = overflow(element);
      if (more < Math.max(own, 100) || element.localName === 'textarea') continue;
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const width = Math.min(right, innerWidth) - Math.max(left, 0);
      const visible = width * (Math.min(bottom, innerHeight) - Math.max(top, 0));
      if (width <= 0 || visible < innerWidth * innerHeight / 2 || visible * more <= most) continue;
      const { overflowY, visibility } = getComputedStyle(element);
      if (['auto', 'scroll'].includes(overflowY) && visibility === 'visible') [best, most] = [element, visible * more];
    }
    return best;
  };

  const expand = (box) => {
    const ancestors = [];
    for (let element = box; element && ancestors.length < 100; element = element.parentElement) ancestors.push(element);
    const before = ancestors.map((element) => {
      const { position, height: own, display, minWidth } = getComputedStyle(element);
      const above = element.parentElement && getComputedStyle(element.parentElement);
      const stacked = above?.display.endsWith('flex') && above.flexDirection.startsWith('column');
      return { position, own, display, minWidth, stacked };
    });
    ancestors.forEach((element, place) => {
      const { position, own, display, minWidth, stacked } = before[place];
      set(element, {
        height: 'auto', 'max-height': element === box ? `${height}px` : 'none', overflow: 'visible', contain: 'none',
        transition: 'none',
      });
      if (stacked) set(element, { 'flex-basis': 'auto', 'flex-shrink': '0' });
      // Otherwise a box that no longer scrolls becomes as wide as its widest word.
      if (minWidth === 'auto') set(element, { 'min-width': '0' });
      if (own.endsWith('px') && display !== 'contents') set(element, { 'min-height': own });
      if (position === 'fixed') set(element, { position: 'absolute' });
      if (position === 'fixed' || position === 'absolute') set(element, { bottom: 'auto' });
    });
    box.scrollTop = 0;
    // An absolutely positioned element does not stretch its parent.
    const end = Math.min(box.getBoundingClientRect().bottom, height);
    for (const element of ancestors.slice(1)) {
      const short = end - element.getBoundingClientRect().bottom;
      const own = parseFloat(getComputedStyle(element).height);
      if (short > 1 && own >= 0) set(element, { 'min-height': `${own + short}px` });
    }
  };

  try {
    removeScrollEffects();
    // Boxes may be nested.
    for (let turn = 0; turn < 3; turn++) {
      const box = scrollingBox();
      if (!box) break;
      expand(box);
    }
  } catch { /* the page has elements that throw: it stays as it is */ }
}
