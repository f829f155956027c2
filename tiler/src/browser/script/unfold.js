// Lays a document out without scrolling: removes scroll snapping and fixed backgrounds, and draws what is skipped while
// it is far from the window. If a box that fills the window scrolls instead of the page, expands it to the height of
// its content, up to `height` CSS px. A box with hidden overflow is expanded only if `scripted`: a script scrolls it.
//
// A frame that fills the window is expanded to `frameHeight`, and the caller unfolds its document. The heights of that
// document's elements stay, even if they depend on the frame's.
//
// Returns the height of the content, how much of it does not fit into the window, and what the caller has to examine:
// a frame, a box with hidden overflow, and elements that may have closed shadow trees.
({ height, frameHeight, scripted }) => {
  const maxHosts = 10;
  const overflow = (element) => element.scrollHeight - element.clientHeight;
  const pageScrolls = () => pageHeight() - innerHeight > innerHeight / 4;
  const isFrameset = document.body?.localName === 'frameset';

  const removeScrollEffects = () => {
    const found = elements().map((element) => {
      const { backgroundAttachment, backgroundImage, scrollSnapType, scrollBehavior, contentVisibility } = getComputedStyle(element);
      const styles = {};
      if (backgroundAttachment.includes('fixed') && backgroundImage !== 'none') styles['background-attachment'] = 'scroll';
      if (!/^(none|x|inline)/.test(scrollSnapType)) styles['scroll-snap-type'] = 'none';
      if (scrollBehavior !== 'auto') styles['scroll-behavior'] = 'auto';
      if (contentVisibility === 'auto') styles['content-visibility'] = 'visible';
      return [element, styles];
    });
    found.forEach(([element, styles]) => set(element, styles));
  };

  // Returns how far the content in a box's flow reaches below the box. Slides, menus and lines of an editor are placed
  // absolutely or beside each other.
  const flowBelow = (box) => {
    const end = box.getBoundingClientRect().bottom;
    const below = (element, depth) => [...element.children].slice(0, 200).reduce((most, child) => {
      const { position, float, visibility } = getComputedStyle(child);
      if (['absolute', 'fixed'].includes(position) || float !== 'none' || visibility !== 'visible') return most;
      const { left, right, bottom } = child.getBoundingClientRect();
      if (Math.min(right, innerWidth) - Math.max(left, 0) < innerWidth / 3) return most;
      return Math.max(most, depth > 0 && bottom - end < 1 ? below(child, depth - 1) : bottom - end);
    }, 0);
    return below(box, 3);
  };

  // Returns the box that scrolls instead of the page.
  const scrollingBox = () => {
    const own = pageHeight() - innerHeight;
    let [best, most] = [null, 0];
    for (const element of elements()) {
      const more = overflow(element);
      if (more < Math.max(own * 0.8, 100) || ['html', 'textarea'].includes(element.localName)) continue;
      const part = visiblePart(element.getBoundingClientRect());
      if (part < 0.5 || part * more <= most || (element === document.body && !bodyScrolls())) continue;
      const { overflowY, visibility, position } = getComputedStyle(element);
      if (visibility !== 'visible' || isVisible(overflowY)) continue;
      const hides = ['hidden', 'clip'].includes(overflowY);
      // Some scripts give the page the height of a fixed box's content, and move that content as the page scrolls.
      const follows = position === 'fixed' && part > 0.9 && more < own * 1.2 + 100;
      if (pageScrolls()) {
        if (!follows) continue;
      } else if (hides) {
        if (part < 0.75 || flowBelow(element) < innerHeight / 4) continue;
        state.hiddenBox ??= element;
        if (!scripted && !state.unlocked) continue;
      }
      [best, most] = [element, part * more];
    }
    return best;
  };

  const expand = (box, to) => {
    const ancestors = [];
    for (let element = box; element && ancestors.length < 100; element = parent(element)) ancestors.push(element);
    const before = ancestors.map((element) => {
      const { position, height: own, display, minWidth, overflowX } = getComputedStyle(element);
      const above = parent(element) && getComputedStyle(parent(element));
      const stacked = above?.display.endsWith('flex') && above.flexDirection.startsWith('column');
      return { position, own, display, minWidth, overflowX, stacked };
    });
    const fills = box.getBoundingClientRect().width > innerWidth * 0.95;
    ancestors.forEach((element, place) => {
      state.expanded.add(element);
      const { position, own, display, minWidth, overflowX, stacked } = before[place];
      // What a box as wide as the window scrolls sideways is a part of a wide page.
      const isWide = fills && ['auto', 'scroll'].includes(overflowX);
      set(element, {
        height: element === box && to ? `${to}px` : 'auto',
        'max-height': element === box ? `${height}px` : 'none',
        'overflow-x': isVisible(overflowX) || isWide ? 'visible' : 'clip', 'overflow-y': 'visible',
        contain: 'none', transition: 'none',
      });
      if (stacked) set(element, { 'flex-basis': 'auto', 'flex-shrink': '0' });
      // Otherwise a box that no longer scrolls becomes as wide as its widest word.
      if (minWidth === 'auto') set(element, { 'min-width': '0' });
      if (own.endsWith('px') && display !== 'contents') set(element, { 'min-height': own });
      if (position === 'fixed') set(element, { position: 'absolute' });
      if (position === 'fixed' || position === 'absolute') set(element, { bottom: 'auto' });
    });
    box.scrollTop = 0;
    // A row of a grid may have a height of its own.
    if (overflow(box) > 1) set(box, { 'min-height': `${Math.min(box.scrollHeight, height)}px` });
    // An absolutely positioned element does not stretch its parent.
    const end = Math.min(box.getBoundingClientRect().bottom, height);
    for (const element of ancestors.slice(1)) {
      const short = end - element.getBoundingClientRect().bottom;
      const own = parseFloat(getComputedStyle(element).height);
      if (short > 1 && own >= 0) set(element, { 'min-height': `${own + short}px` });
    }
  };

  // Returns the frame that is the page.
  const fillingFrame = () => {
    if (state.frame?.isConnected && state.expanded.has(state.frame)) return state.frame;
    if (pageScrolls()) return null;
    let [best, most] = [null, 0.5];
    for (const element of elements().filter(isFrame)) {
      const part = visiblePart(element.getBoundingClientRect());
      if (part >= most && getComputedStyle(element).visibility === 'visible') [best, most] = [element, part];
    }
    return best;
  };

  // Keeps the heights of elements that grow with the frame.
  const keepHeights = () => {
    for (const [element, before] of state.heights) {
      if (!element.isConnected || state.expanded.has(element) || element.getBoundingClientRect().height <= before.height + 1) continue;
      const { height: specified, minHeight } = element.style;
      set(element, { height: `${before.height}px`, 'min-height': '0', 'box-sizing': 'border-box' });
      // Its content has grown, too.
      if (overflow(element) > before.overflow + 1) Object.assign(element.style, { height: specified, minHeight });
    }
    for (const element of elements()) {
      if (element === root || element === document.body || state.heights.has(element)) continue;
      state.heights.set(element, { height: element.getBoundingClientRect().height, overflow: overflow(element) });
    }
  };

  // Returns elements that may have a closed shadow tree.
  const possibleHosts = () => {
    if (pageScrolls()) return [];
    const found = elements().filter((element) => !shadowTree(element) && !state.closedTrees.has(element) &&
      (element.localName.includes('-') || element.localName === 'div' && !element.hasChildNodes()) &&
      visiblePart(element.getBoundingClientRect()) >= 0.5);
    return found.slice(0, maxHosts);
  };

  const unfolded = { height: innerHeight, more: 0, isFrameset, frame: false, hiddenBox: false, hosts: 0 };
  try {
    removeScrollEffects();
    if (window !== window.parent) keepHeights();
    state.hiddenBox = null;
    // Boxes may be nested.
    for (let turn = 0; turn < 4; turn++) {
      const box = scrollingBox();
      if (!box) break;
      expand(box);
    }
    const frame = state.frame = fillingFrame();
    if (frame && frameHeight && !isFrameset) expand(frame, Math.min(frameHeight, height));
    state.hosts = frame ? [] : possibleHosts();
    const missing = isFrameset && frame && frameHeight ? Math.max(frameHeight - frame.clientHeight, 0) : 0;
    const content = Math.min(pageHeight() + missing, height);
    const hiddenBox = Boolean(state.hiddenBox) && !pageScrolls();
    Object.assign(unfolded, { height: content, more: content - innerHeight, frame: Boolean(frame), hiddenBox, hosts: state.hosts.length });
  } catch { /* the page has elements that throw: it stays as it is */ }
  return unfolded;
}
