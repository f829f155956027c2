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
  const localName = getter(Element.prototype, 'localName');
  const attribute = (element, name) => Element.prototype.getAttribute.call(element, name)?.trim() || null;
  const rectOf = (element) => Element.prototype.getBoundingClientRect.call(element);
  const rects = (element) => [...Element.prototype.getClientRects.call(element)];
  const isShown = (element) => Element.prototype.checkVisibility.call(element, { opacityProperty: true, visibilityProperty: true });

  const roles = { h1: 'h1', h2: 'h2', h3: 'h3', h4: 'h4', h5: 'h5', h6: 'h6', li: 'li', dt: 'li', dd: 'li', td: 'td', th: 'td' };
  const neverRead = new Set(['script', 'style', 'noscript', 'template', 'head', 'title', 'audio', 'video', 'canvas', 'object', 'embed']);
  const place = ({ left, top, width, height }) => [left, top, width, height];
  const blocks = [];
  const links = [];
  const frames = [];
  const range = document.createRange();
  let words = 0;
  let visited = 0;
  let block = null; // the block that is being read
  let line = null; // its last line

  const endBlock = () => {
    if (block?.lines.length) blocks.push(block);
    block = line = null;
  };
  const addWord = (role, text, { left, top, right, bottom }) => {
    block ??= { role, lines: [] };
    const last = line?.words.at(-1);
    const rtl = getComputedStyle(block.element ?? root).direction === 'rtl';
    const isNext = last && (top + bottom) / 2 > line.top && (top + bottom) / 2 < line.bottom &&
      (rtl ? right <= last.left + 1 : left >= last.right - 1);
    if (!isNext) block.lines.push(line = { words: [], left, top, right, bottom, rtl });
    line.words.push({ text, left, right });
    line.left = Math.min(line.left, left);
    line.top = Math.min(line.top, top);
    line.right = Math.max(line.right, right);
    line.bottom = Math.max(line.bottom, bottom);
    words++;
  };
  const transformed = (text, how) => {
    if (how === 'uppercase') return text.toUpperCase();
    if (how === 'lowercase') return text.toLowerCase();
    return how === 'capitalize' ? text.replace(/\p{L}/u, (letter) => letter.toUpperCase()) : text;
  };
  // Adds a word that is divided, or text without spaces, by its lines.
  const addPieces = (role, node, start, end, how) => {
    let [from, above] = [start, null];
    const flush = (to) => {
      range.setStart(node, from);
      range.setEnd(node, to);
      const { left, top, right, bottom, width } = range.getBoundingClientRect();
      const divided = to < end ? '\u00ad' : '';
      if (width > 0) addWord(role, transformed(node.data.slice(from, to), how) + divided, { left, top, right, bottom });
      from = to;
    };
    for (let at = start; at < end; at++) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { top, bottom, width } = range.getBoundingClientRect();
      if (!width) continue;
      if (above !== null && top >= above) flush(at);
      above = bottom - (bottom - top) / 4;
    }
    flush(end);
  };
  const readText = (node, role, how) => {
    for (const match of node.data.matchAll(/\S+/g)) {
      if (words >= maxWords) return;
      const [start, end] = [match.index, match.index + match[0].length];
      range.setStart(node, start);
      range.setEnd(node, end);
      const seen = range.getClientRects();
      if (seen.length === 1) addWord(role, transformed(match[0], how), seen[0]);
      else if (seen.length > 1) addPieces(role, node, start, end, how);
    }
  };
  const readField = (element) => {
    const isHidden = ['password', 'hidden', 'file', 'checkbox', 'radio', 'range', 'color', 'image'].includes(element.type);
    const value = localName(element) === 'select' ? element.selectedOptions?.[0]?.text : element.value;
    if (isHidden || !value?.trim()) return;
    endBlock();
    blocks.push({ role: 'p', lines: value.split('\n').map((text) => ({ text, at: place(rectOf(element)) })) });
  };
  const readFrame = (element) => {
    endBlock();
    const { left, top, width, height } = rectOf(element);
    if (!isShown(element) || width <= 1 || height <= 1) return;
    blocks.push({ frame: frames.length, at: [left + element.clientLeft, top + element.clientTop, element.clientWidth, element.clientHeight] });
    frames.push(element);
  };
  const readPicture = (element) => {
    const alternative = attribute(element, 'alt') ?? attribute(element, 'aria-label');
    const rect = rectOf(element);
    if (!alternative || !isShown(element) || rect.width <= 1) return;
    endBlock();
    blocks.push({ role: 'img', at: place(rect), alternative });
  };
  const readLink = (element) => {
    const to = element.href?.baseVal ?? element.href;
    if (typeof to !== 'string' || !to) return;
    const url = new URL(to, document.baseURI).href;
    for (const rect of rects(element)) if (rect.width > 1) links.push({ at: place(rect), to: url });
  };
  const heading = (element) => attribute(element, 'role') === 'heading' ? `h${Math.min(Math.max(Number(attribute(element, 'aria-level')) || 2, 1), 6)}` : null;

  const visit = (element, role, how) => {
    const name = localName(element);
    if (neverRead.has(name) || ++visited > 10 * maxElements) return;
    const style = getComputedStyle(element);
    if (style.display === 'none' || style.opacity === '0') return;
    // Text for screen readers alone has a box of a pixel.
    const { width, height } = rectOf(element);
    const clips = style.overflow !== 'visible' || style.position === 'absolute' && style.clip !== 'auto';
    if (clips && (width <= 1 || height <= 1)) return;
    if (name === 'iframe' || name === 'frame') return readFrame(element);
    if (['input', 'textarea', 'select'].includes(name)) return isShown(element) ? readField(element) : undefined;
    if (name === 'img' || name === 'area' || attribute(element, 'role') === 'img') {
      readPicture(element);
      if (name !== 'svg') return;
    }
    if (name === 'a' && links.length < maxLinks) readLink(element);
    const isInline = style.display.startsWith('inline') && style.display !== 'inline-block' || style.display === 'contents';
    const own = heading(element) ?? roles[name] ?? role;
    if (!isInline) endBlock();
    const shadow = shadowTree(element);
    const within = name === 'slot' ? [...element.assignedNodes()] : [];
    const all = within.length ? within : [...childNodes(shadow ?? element)];
    // Folded text has no style of its own.
    const isFolded = name === 'details' && !element.hasAttribute('open');
    const nodes = isFolded ? all.filter((node) => node.nodeName === 'SUMMARY').slice(0, 1) : all;
    const reads = isShown(element);
    for (const node of nodes) {
      if (words >= maxWords) break;
      if (nodeType(node) === Node.TEXT_NODE) {
        if (!reads) continue;
        if (!block) block = { role: own, lines: [], element };
        readText(node, own, style.textTransform);
      } else if (nodeType(node) === Node.ELEMENT_NODE) visit(node, own, style.textTransform);
    }
    if (!isInline) endBlock();
  };

  try {
    visit(root, 'p', 'none');
  } catch {
    // The page has elements that throw: what was read counts.
  }
  endBlock();
  state.frames = frames;
  const finished = ({ text, at, words, left, top, right, bottom, rtl }) => text !== undefined ? { text, at, spans: [], rtl: false } : {
    text: words.map((word) => word.text).join(' '),
    at: [left, top, right - left, bottom - top],
    // The beginning and the end of each word.
    spans: words.flatMap((word) => rtl ? [right - word.right, right - word.left] : [word.left - left, word.right - left]),
    rtl,
  };
  return {
    language: attribute(root, 'lang'),
    blocks: blocks.map(({ role, lines, at, alternative, frame }) => ({ role, lines: lines?.map(finished), at, alternative, frame })),
    links,
    frames: frames.length,
  };
}
