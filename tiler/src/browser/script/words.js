// Returns the words of a document, with its links and the frames in it, in CSS px from the top left of its window: blocks
// in reading order, as `edgezoom_text` has them, and `{ frame, at }` for the frame with that index in the state.
({ words: maxWords, links: maxLinks }) => {
  // A field of a form can have the name of a property that the form would have.
  const getter = (prototype, name) => {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    return (object) => get.call(object);
  };
  const childNodes = getter(Node.prototype, 'childNodes');
  const nodeType = getter(Node.prototype, 'nodeType');
  const textOf = getter(Node.prototype, 'textContent');
  const localName = getter(Element.prototype, 'localName');
  const attribute = (element, name) => Element.prototype.getAttribute.call(element, name)?.trim() || null;
  const rectOf = (element) => Element.prototype.getBoundingClientRect.call(element);
  const rects = (element) => [...Element.prototype.getClientRects.call(element)];
  const isShown = (element) => Element.prototype.checkVisibility.call(element, { opacityProperty: true, visibilityProperty: true });

  const roles = { h1: 'h1', h2: 'h2', h3: 'h3', h4: 'h4', h5: 'h5', h6: 'h6', li: 'li', dt: 'li', dd: 'li', td: 'td', th: 'td' };
  const neverRead = new Set(['script', 'style', 'noscript', 'template', 'head', 'title', 'audio', 'video', 'canvas', 'embed', 'rp']);
  const place = ({ left, top, right, bottom }) => [left, top, right - left, bottom - top];
  const lines = new Lines();
  const links = [];
  const frames = [];
  const range = document.createRange();
  const maxHosts = 50;
  const hosts = []; // elements that may have a closed shadow tree
  let visited = 0;
  let notes = []; // what reads the notes of ruby, after their block

  const endBlock = () => {
    lines.end();
    const readers = notes;
    notes = [];
    for (const read of readers) read();
  };
  const addBlock = (block) => {
    endBlock();
    lines.blocks.push(block);
  };
  const cut = (box, other) => !box || !other ? box ?? other : {
    left: Math.max(box.left, other.left), top: Math.max(box.top, other.top),
    right: Math.min(box.right, other.right), bottom: Math.min(box.bottom, other.bottom),
  };
  // Returns true if at least half of a rectangle is in the box that cuts off its element.
  const isInside = ({ left, top, right, bottom }, clip) => {
    if (!clip) return true;
    const seen = cut({ left, top, right, bottom }, clip);
    return Math.max(seen.right - seen.left, 0) * Math.max(seen.bottom - seen.top, 0) * 2 >= (right - left) * (bottom - top);
  };
  const addLetters = (text, rect, { clip, em }) => {
    if (isInside(rect, clip)) lines.add(text, rect, em);
  };
  const transformed = (text, { textTransform }, goesOn) => {
    if (textTransform.includes('uppercase')) return text.toUpperCase();
    if (textTransform.includes('lowercase')) return text.toLowerCase();
    if (!textTransform.includes('capitalize')) return text;
    return text.replace(/(?<![\p{L}\p{M}\p{N}'’])\p{L}/gu, (letter, at) => at === 0 && goesOn ? letter : letter.toUpperCase());
  };
  // Adds a word that is divided, or text without spaces, by its lines.
  const addPieces = (node, start, end, around) => {
    let [from, above] = [start, null];
    const flush = (to) => {
      range.setStart(node, from);
      range.setEnd(node, to);
      const rect = range.getBoundingClientRect();
      if (rect.width > 0) addLetters(transformed(node.data.slice(from, to), around.style, from > start || !lines.spaced), rect, around);
      from = to;
    };
    for (let at = start; at < end; at++) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const rect = range.getBoundingClientRect();
      if (!rect.width) continue;
      const { top, bottom } = lines.upright(rect);
      if (above !== null && top >= above) flush(at);
      above = bottom - (bottom - top) / 4;
    }
    flush(end);
  };
  const readText = (node, around) => {
    let read = 0;
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      if (lines.words >= maxWords) return;
      lines.spaced ||= index > read;
      read = index + word.length;
      range.setStart(node, index);
      range.setEnd(node, read);
      const seen = range.getClientRects();
      if (seen.length === 1) addLetters(transformed(word, around.style, !lines.spaced), seen[0], around);
      else if (seen.length > 1) addPieces(node, index, read, around);
    }
    lines.spaced ||= read < node.data.length;
  };
  const readField = (element, { clip }) => {
    const isHidden = ['password', 'hidden', 'file', 'checkbox', 'radio', 'range', 'color'].includes(element.type);
    const rect = rectOf(element);
    if (isHidden || rect.width <= 1 || !isInside(rect, clip)) return;
    const isSelect = localName(element) === 'select';
    if (isSelect && (element.size > 1 || element.multiple)) return readChoices(element, cut(rect, clip));
    const value = isSelect ? element.selectedOptions?.[0]?.text : element.value;
    const shown = value?.trim() ? value : attribute(element, 'placeholder');
    if (!shown) return;
    const fitting = Math.ceil(rect.height / parseFloat(getComputedStyle(element).fontSize));
    addBlock({ role: 'p', lines: shown.split('\n').slice(0, fitting).map((text) => ({ text, at: place(rect) })) });
  };
  // A list that is a box shows the choices to which it is scrolled.
  const readChoices = (element, box) => {
    const choices = [...element.options ?? []].filter((choice) => rectOf(choice).width > 1 && isInside(rectOf(choice), box));
    addBlock({ role: 'p', lines: choices.map((choice) => ({ text: choice.label, at: place(rectOf(choice)) })) });
  };
  const readFrame = (element) => {
    endBlock();
    const { left, top, width, height } = rectOf(element);
    if (!isShown(element) || width <= 1 || height <= 1) return;
    lines.blocks.push({ frame: frames.length, at: [left + element.clientLeft, top + element.clientTop, element.clientWidth, element.clientHeight] });
    frames.push(element);
  };
  // Returns the place of an area of a picture.
  const areaRect = (area) => {
    const map = attribute(area.closest('map') ?? area, 'name');
    const picture = map && document.querySelector(`img[usemap="#${CSS.escape(map)}"]`);
    const coordinates = (attribute(area, 'coords') ?? '').split(/[\s,;]+/).map(Number);
    if (!picture || area.shape === 'default' || coordinates.length < 3) return rectOf(picture || area);
    const [x, y, radius] = coordinates;
    const corners = coordinates.length === 3 ? [x - radius, y - radius, x + radius, y + radius] : coordinates;
    const [across, down] = [0, 1].map((axis) => corners.filter((_, at) => at % 2 === axis));
    const { left, top } = rectOf(picture);
    const width = Math.max(...across) - Math.min(...across);
    return new DOMRect(left + Math.min(...across), top + Math.min(...down), width, Math.max(...down) - Math.min(...down));
  };
  const labels = (element) => (attribute(element, 'aria-labelledby') ?? '').split(/\s+/)
    .map((id) => id && document.getElementById(id)).filter(Boolean).map((label) => textOf(label).trim()).join(' ');
  const titleOf = (element) => {
    const title = localName(element) === 'svg' && [...childNodes(element)].find((child) => child.nodeName === 'title');
    return title && textOf(title).trim();
  };
  const readPicture = (element, { clip }) => {
    const alternative = labels(element) || (attribute(element, 'alt') ?? attribute(element, 'aria-label') ?? titleOf(element));
    const isArea = localName(element) === 'area';
    const rect = isArea ? areaRect(element) : rectOf(element);
    if (!alternative || rect.width <= 1 || !isInside(rect, clip) || !isArea && !isShown(element)) return;
    addBlock({ role: 'img', at: place(rect), alternative });
  };
  const readLink = (element, { clip }) => {
    const to = element.href?.baseVal ?? element.href;
    if (typeof to !== 'string' || !to) return;
    const url = new URL(to, document.baseURI).href;
    const places = localName(element) === 'area' ? [areaRect(element)] : rects(element);
    for (const rect of places) if (rect.width > 1 && isInside(rect, clip)) links.push({ at: place(rect), to: url });
  };
  const heading = (element) => attribute(element, 'role') === 'heading' ? `h${Math.min(Math.max(Number(attribute(element, 'aria-level')) || 2, 1), 6)}` : null;

  // Returns the box that cuts off what is in an element.
  const clipOf = (element, { overflowX, overflowY }) => {
    const ofWindow = element === root || element === document.body && !bodyScrolls();
    if (ofWindow || isVisible(overflowX) && isVisible(overflowY)) return null;
    const { left, top, right, bottom } = rectOf(element);
    const across = isVisible(overflowX) ? { left: -Infinity, right: Infinity } : { left, right };
    return isVisible(overflowY) ? { ...across, top: -Infinity, bottom: Infinity } : { ...across, top, bottom };
  };
  // Letters without a colour are seen if they have a shadow or an edge, or cut out a background.
  const isTransparent = ({ webkitTextFillColor, textShadow, webkitTextStrokeWidth }) =>
    /^rgba\(.*, 0\)$|\/ 0\)$/.test(webkitTextFillColor) && textShadow === 'none' && webkitTextStrokeWidth === '0px';

  // Returns what an element contains as it is drawn.
  const nodesOf = (element) => {
    const assigned = localName(element) === 'slot' ? [...element.assignedNodes()] : [];
    const nodes = assigned.length ? assigned : [...childNodes(shadowTree(element) ?? element)];
    // Folded text has no style of its own.
    const isFolded = localName(element) === 'details' && !element.hasAttribute('open');
    return isFolded ? nodes.filter((node) => node.nodeName === 'SUMMARY').slice(0, 1) : nodes;
  };

  // Returns the context of an element's content, from that of the element.
  const contextOf = (element, style, around) => {
    const { display, position, writingMode } = style;
    const { width, height } = rectOf(element);
    const ownRole = heading(element) ?? roles[localName(element)];
    const em = parseFloat(style.fontSize);
    const isText = display === 'inline' || display === 'contents' || display === 'ruby';
    // A box in a line is a part of it: a button, a letter that moves, a formula.
    const isBox = (display.startsWith('inline-') || display.includes('math')) && !ownRole;
    const outer = { fixed: null, absolute: around.containerClip }[position];
    const clip = cut(outer === undefined ? around.clip : outer, isText ? null : clipOf(element, style));
    const isContainer = position !== 'static' || style.transform !== 'none';
    return {
      role: ownRole ?? around.role, style, em, clip, isText, isNote: around.isNote,
      isInLine: around.isInLine || isBox && (writingMode.startsWith('vertical') ? width : height) <= 3 * em,
      containerClip: isContainer ? clip : around.containerClip,
      cutsOut: around.cutsOut || style.backgroundClip.includes('text'),
      // An element without a box is no more hidden than what is around it.
      isShown: display === 'contents' ? around.isShown : isShown(element),
    };
  };

  const visit = (element, around) => {
    const name = localName(element);
    if (neverRead.has(name) || ++visited > 10 * maxElements) return;
    if (name === 'br') lines.spaced = true;
    const style = getComputedStyle(element);
    const { display, opacity, overflow, position } = style;
    if (display === 'none' || opacity === '0') return;
    if (name === 'rt' && !around.isNote) {
      notes.push(() => visit(element, { ...around, isNote: true, isInLine: false }));
      return;
    }
    // Text for screen readers alone has a box of a pixel.
    const { width, height } = rectOf(element);
    const clips = overflow !== 'visible' || position === 'absolute' && style.clip !== 'auto';
    if (clips && (width <= 1 || height <= 1)) return;
    if (name === 'iframe' || name === 'frame') return readFrame(element);
    const within = contextOf(element, style, around);
    if (['input', 'textarea', 'select'].includes(name) && element.type !== 'image') return within.isShown ? readField(element, within) : undefined;
    if (['img', 'area', 'input'].includes(name) || attribute(element, 'role') === 'img') readPicture(element, within);
    if ((name === 'a' || name === 'area') && links.length < maxLinks) readLink(element, within);
    if (['img', 'input'].includes(name)) return;
    const mayBeClosed = name.includes('-') && !shadowTree(element) && !state.closedTrees.has(element) && width > 1;
    if (mayBeClosed && hosts.length < maxHosts) hosts.push(element);
    readContent(element, within);
  };

  const readContent = (element, within) => {
    const { style, em } = within;
    const border = () => {
      if (within.isText) return;
      if (within.isInLine) lines.bordered = true;
      else endBlock();
    };
    border();
    const reads = within.isShown && (within.cutsOut || element instanceof SVGElement || !isTransparent(style));
    const number = localName(element) === 'li' ? markerOf(element, style) : null;
    const before = reads ? number ?? written(element, '::before') : null;
    lines.ahead = before ?? lines.ahead;
    for (const node of nodesOf(element)) {
      if (lines.words >= maxWords) break;
      if (nodeType(node) === Node.TEXT_NODE && reads) {
        lines.begin(within.role, style);
        readText(node, within);
      } else if (nodeType(node) === Node.ELEMENT_NODE) visit(node, within);
    }
    if (lines.ahead === before) lines.ahead = null;
    const after = reads ? written(element, '::after') : null;
    if (after) lines.addAfter(after, em);
    border();
  };

  try {
    const { shown, from } = state;
    const below = from && { left: -Infinity, top: rectOf(from).top, right: Infinity, bottom: Infinity };
    const clip = shown ? rectOf(shown) : below;
    visit(shown ?? root, { role: 'p', isShown: true, clip, containerClip: clip });
  } catch {
    // The page has elements that throw: what was read counts.
  }
  endBlock();
  Object.assign(state, { frames, hosts });
  return {
    language: attribute(root, 'lang') ?? (document.body && attribute(document.body, 'lang')),
    blocks: lines.finished(),
    links,
    frames: frames.length,
    hosts: hosts.length,
  };
}
