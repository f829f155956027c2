// The text of a picture: pages, blocks, lines of words, links and an outline, all in pixels of the picture. A source
// made it, so each member is checked, and a wrong one is left out. Pure arithmetic.

const ROLES = /^(h[1-6]|p|li|td|img)$/;
const SCHEMES = ["http:", "https:", "mailto:"];
/** A word that continues in the next line ends with this character. */
export const SOFT_HYPHEN = "\u00ad";
/** Han, kana and full-width letters, and signs that are as wide among them. */
const WIDE = "[\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff9f\u{20000}-\u{3ffff}]";
const SIGNS = "[—‘-”…]*";
/** Lines between which there is no space: divided words, compounds, and wide letters. `joins.rs` has the same. */
const JOINED = new RegExp(`\u00ad\n|[^ -][-‐-―]\n(?!(and|bis|oder|or|und)\\b)|${WIDE}${SIGNS}\n${SIGNS}${WIDE}`, "u");

/**
 * Returns the text of a response: `{ language, total, pages, lines, outline }`. A page is
 * `{ number, label, box, blocks, lines, links }`, with `number` from 1; a block is `{ role, lines, alternative, box }`;
 * a link is `{ box, url }` or `{ box, page }`, an entry of the outline `{ depth, title, page, y }`, with `page` from 0.
 * `lines` are those of all pages in reading order.
 */
export function readDocument({ language, total, pages: given, outline }) {
  const lines = [];
  const pages = list(given).map((page, index) => readPage(page, index + 1, lines));
  const isPage = (page) => Number.isInteger(page) && page >= 0 && page < pages.length;
  for (const page of pages) page.links = page.links.filter(({ url, page }) => url || isPage(page));
  return {
    language: typeof language === "string" ? language : "",
    total: Number.isInteger(total) ? Math.max(total, pages.length) : pages.length,
    pages,
    lines,
    outline: list(outline).filter(({ title, page }) => title && typeof title === "string" && isPage(page)).map(readEntry),
  };
}

function readPage({ at, label, blocks, links }, number, lines) {
  const box = readBox(at) ?? { x: 0, y: 0, width: 0, height: 0 };
  const page = { number, label: typeof label === "string" ? label : "", box, lines: [] };
  page.blocks = list(blocks).map((block) => {
    const role = ROLES.test(block.role) ? block.role : "p";
    const read = { role, alternative: typeof block.alternative === "string" ? block.alternative : "", lines: [] };
    for (const given of list(block.lines)) {
      const place = readBox(given.at, box);
      if (place && given.text && typeof given.text === "string") read.lines.push(new Line(given, place, page, read));
    }
    page.lines.push(...read.lines);
    return read;
  });
  for (const line of page.lines) line.index = lines.push(line) - 1;
  page.links = list(links).flatMap(({ at, to }) => {
    const place = readBox(at, box);
    const target = typeof to === "string" ? { url: safeUrl(to) } : { page: to };
    return place ? [{ box: place, ...target }] : [];
  });
  return page;
}

const readEntry = ({ depth, title, page, y }) => ({ title, page, depth: isNumber(depth) ? depth : 0, y: isNumber(y) ? y : 0 });

const isNumber = Number.isFinite;
const list = (value) => (Array.isArray(value) ? value.filter((entry) => typeof entry === "object" && entry !== null) : []);

/** Returns the box of `[x, y, width, height]` from a corner, or null. */
function readBox(at, { x: left, y: top } = { x: 0, y: 0 }) {
  if (!Array.isArray(at) || at.length !== 4 || !at.every(isNumber)) return null;
  const [x, y, width, height] = at;
  return width >= 0 && height >= 0 ? { x: left + x, y: top + y, width, height } : null;
}

/** Returns a URL that a link may open, or "". */
function safeUrl(text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  return SCHEMES.includes(url?.protocol) ? url.href : "";
}

/** A line of words in a rectangle that may be rotated. Places in it are distances from the edge where it begins. */
export class Line {
  #spans;
  #words = null;

  /** `box` is the smallest upright rectangle that contains it. */
  constructor({ text, spans, angle = 0, rtl = false }, box, page, block) {
    Object.assign(this, { text, box, page, block, rtl: rtl === true, angle: isNumber(angle) ? angle : 0, index: -1 });
    this.#spans = Array.isArray(spans) && spans.every(isNumber) ? spans : [];
    const turn = (this.angle * Math.PI) / 180;
    [this.across, this.down] = [Math.cos(turn), Math.sin(turn)];
    [this.length, this.thickness] = this.#sides();
    const shift = (along, over) => ({ x: along * this.across - over * this.down, y: along * this.down + over * this.across });
    const half = shift(this.length / 2, this.thickness / 2);
    /** Its top left corner, as it is read. */
    this.corner = { x: box.x + box.width / 2 - half.x, y: box.y + box.height / 2 - half.y };
  }

  /** Returns length and thickness, of which the sides of the upright rectangle are sums. */
  #sides() {
    const { width, height } = this.box;
    const [across, down] = [Math.abs(this.across), Math.abs(this.down)];
    const difference = across ** 2 - down ** 2;
    // Near 45° all lengths give the same rectangle; its words say how long it is.
    const spanned = this.#spans.reduce((sum, span) => sum + span, 0) || 0.9 * width / across;
    const length = Math.abs(difference) > 0.1 ? (width * across - height * down) / difference : spanned;
    const thickness = down > across ? (width - length * across) / down : (height - length * down) / across;
    return [Math.max(length, 1), Math.max(thickness, 1)];
  }

  /** Its words: `{ from, to, start, end }`, offsets in the text and places. */
  get words() {
    return (this.#words ??= this.#placedWords());
  }

  #placedWords() {
    const texts = this.text.split(" ");
    if (this.#spans.length !== 2 * texts.length) return [{ from: 0, to: this.text.length, start: 0, end: this.length }];
    let [from, place] = [0, 0];
    return texts.map((word, index) => {
      const [gap, width] = this.#spans.slice(2 * index, 2 * index + 2);
      const placed = { from, to: from + word.length, start: place + gap, end: place + gap + width };
      [from, place] = [placed.to + 1, placed.end];
      return placed;
    });
  }

  /** Returns the word at a place, or the nearest one. */
  wordAt(place) {
    const distance = ({ start, end }) => Math.max(start - place, place - end, 0);
    return this.words.reduce((nearest, word) => (distance(word) < distance(nearest) ? word : nearest));
  }

  /** Returns the offset in the text that is nearest to a place. */
  offsetAt(place) {
    const { from, to, start, end } = this.wordAt(place);
    const share = Math.min(Math.max((place - start) / (end - start || 1), 0), 1);
    const offset = from + Math.round(share * (to - from));
    return /[\udc00-\udfff]/.test(this.text[offset] ?? "") ? offset + 1 : offset;
  }

  /** Returns where a point of the picture is: its place in the line, and its distances from the line. */
  locate({ x, y }) {
    const [right, under] = [x - this.corner.x, y - this.corner.y];
    const along = right * this.across + under * this.down;
    const over = under * this.across - right * this.down;
    const beyond = (value, most) => Math.max(-value, value - most, 0);
    return { place: this.rtl ? this.length - along : along, aside: beyond(along, this.length), above: beyond(over, this.thickness) };
  }

  /** Returns the point at a place, half-way between the line's top and bottom. */
  middleAt(place) {
    const along = this.rtl ? this.length - place : place;
    const over = this.thickness / 2;
    const { x, y } = this.corner;
    return { x: x + along * this.across - over * this.down, y: y + along * this.down + over * this.across };
  }

  /** Returns the rectangle of a part of the text: corner, sides and angle. */
  part(from, to) {
    const touched = this.words.filter((word) => word.from < to && word.to > from);
    const ends = touched.flatMap(({ from: first, to: last, start, end }) => {
      const at = (offset) => start + ((end - start) * (Math.min(Math.max(offset, first), last) - first)) / (last - first);
      return [at(from), at(to)];
    });
    const [start, end] = ends.length > 0 ? [Math.min(...ends), Math.max(...ends)] : [0, 0];
    const along = this.rtl ? this.length - end : start;
    const { x, y } = this.corner;
    return { x: x + along * this.across, y: y + along * this.down, width: end - start, height: this.thickness, angle: this.angle };
  }
}

/** Returns the centre of a box. */
export const centreOf = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });

/** Returns true if a box contains a point. */
export const contains = (box, { x, y }) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;

/** Returns the smallest upright rectangle that contains rectangles of `Line.part`. */
export function around(parts) {
  const corners = parts.flatMap(({ x, y, width, height, angle }) => {
    const turn = (angle * Math.PI) / 180;
    const [across, down] = [Math.cos(turn), Math.sin(turn)];
    return [[0, 0], [width, 0], [0, height], [width, height]].map(([along, over]) => [x + along * across - over * down, y + along * down + over * across]);
  });
  const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return { x: left, y: top, width: Math.max(...xs) - left, height: Math.max(...ys) - top };
}

/** Returns the page at a point of the picture, or the nearest one. */
export function pageAt({ pages }, { x, y }) {
  const beyond = (at, start, length) => Math.max(start - at, at - start - length, 0);
  const distance = ({ box }) => Math.hypot(beyond(x, box.x, box.width), beyond(y, box.y, box.height));
  return pages.reduce((nearest, page) => (distance(page) < distance(nearest) ? page : nearest));
}

/** Returns the parts of lines between two positions `{ line, offset }`: `{ line, from, to }`. */
export function partsBetween({ lines }, start, end) {
  const ends = (line) => ({ line, from: line === start.line ? start.offset : 0, to: line === end.line ? end.offset : line.text.length });
  return lines.slice(start.line.index, end.line.index + 1).map(ends);
}

/** Returns the rectangle of a part of a line. */
export const rectangle = ({ line, from, to }) => line.part(from, to);

/** Returns what is read between two lines. Between numbers a hyphen that divides them is their own. */
export function gap(before, after) {
  // Of most scripts few lines end with any of these.
  if (!/[-\u00ad‐-…\u2e80-\uffff]/.test(before.at(-1))) return " ";
  const around = `${before.slice(-8)}\n${after.slice(0, 8)}`;
  return /\d\u00ad\n\d/.test(around) ? "-" : JOINED.test(around) ? "" : " ";
}

/** Returns the text of parts of lines, as it is copied: a line for each block, and divided words in one piece. */
export function textOf(parts) {
  let text = "";
  let last;
  for (const { line, from, to } of parts) {
    const part = line.text.slice(from, to);
    if (text) text += line.block === last ? gap(text, part) : "\n";
    text += part;
    last = line.block;
  }
  return text.replaceAll(SOFT_HYPHEN, "").trim();
}
