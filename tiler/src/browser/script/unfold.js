// Makes one long sheet of a page: no snapping to places, no backgrounds that stand still, and where the page itself does
// not scroll but a box that fills its window does, that box grows to its content, up to `height` CSS px.
async ({ height }) => {
  const looked = 20000;
  const set = (element, styles) => {
    for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value, 'important');
  };
  const elements = () => {
    const all = [...document.body.querySelectorAll('*')].slice(0, looked);
    return [document.documentElement, document.body, ...all];
  };
  const beyond = (element) => element.scrollHeight - element.clientHeight;

  const flatten = () => {
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

  // The box that scrolls in the page's stead.
  const shell = () => {
    const root = document.scrollingElement ?? document.documentElement;
    const own = root.scrollHeight - innerHeight;
    if (own > innerHeight / 4) return null;
    let [best, most] = [null, 0];
    for (const element of elements().slice(2)) {
      const more = beyond(element);
      if (more < Math.max(own, 100) || element.localName === 'textarea') continue;
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const width = Math.min(right, innerWidth) - Math.max(left, 0);
      const seen = width * (Math.min(bottom, innerHeight) - Math.max(top, 0));
      if (width <= 0 || seen < innerWidth * innerHeight / 2 || seen * more <= most) continue;
      const { overflowY, visibility } = getComputedStyle(element);
      if (['auto', 'scroll'].includes(overflowY) && visibility === 'visible') [best, most] = [element, seen * more];
    }
    return best;
  };

  const grow = (box) => {
    const line = [];
    for (let element = box; element && line.length < 100; element = element.parentElement) line.push(element);
    const before = line.map((element) => {
      const { position, height: own, display, minWidth } = getComputedStyle(element);
      const above = element.parentElement && getComputedStyle(element.parentElement);
      const stacked = above?.display.endsWith('flex') && above.flexDirection.startsWith('column');
      return { position, own, display, minWidth, stacked };
    });
    line.forEach((element, place) => {
      const { position, own, display, minWidth, stacked } = before[place];
      set(element, {
        height: 'auto', 'max-height': element === box ? `${height}px` : 'none', overflow: 'visible', contain: 'none',
        transition: 'none',
      });
      if (stacked) set(element, { 'flex-basis': 'auto', 'flex-shrink': '0' });
      // A box that does not scroll is else as wide as its widest word.
      if (minWidth === 'auto') set(element, { 'min-width': '0' });
      if (own.endsWith('px') && display !== 'contents') set(element, { 'min-height': own });
      if (position === 'fixed') set(element, { position: 'absolute' });
      if (position === 'fixed' || position === 'absolute') set(element, { bottom: 'auto' });
    });
    box.scrollTop = 0;
    // What is laid over its parent does not stretch it.
    const end = Math.min(box.getBoundingClientRect().bottom, height);
    for (const element of line.slice(1)) {
      const short = end - element.getBoundingClientRect().bottom;
      const own = parseFloat(getComputedStyle(element).height);
      if (short > 1 && own >= 0) set(element, { 'min-height': `${own + short}px` });
    }
  };

  try {
    flatten();
    // Boxes in boxes.
    for (let turn = 0; turn < 3; turn++) {
      const box = shell();
      if (!box) break;
      grow(box);
    }
  } catch { /* the page hides its own elements from us, and stays as it is */ }
}
