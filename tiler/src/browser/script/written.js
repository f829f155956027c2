// Text that styles write: the numbers of lists, and text before and after an element.

const quoted = (content) => /^"(?:[^"\\]|\\.)*"$/.test(content) ? content.slice(1, -1).replace(/\\(.)/g, '$1') : '';

const letters = (number) => number > 26 ?
  letters(Math.floor((number - 1) / 26)) + letters((number - 1) % 26 + 1) : String.fromCharCode(96 + number);
const roman = (number) => {
  const signs = { m: 1000, cm: 900, d: 500, cd: 400, c: 100, xc: 90, l: 50, xl: 40, x: 10, ix: 9, v: 5, iv: 4, i: 1 };
  return Object.entries(signs).reduce(([left, text], [sign, value]) => [left % value, text + sign.repeat(left / value)], [number, ''])[1];
};
const numerals = {
  decimal: String,
  'decimal-leading-zero': (number) => String(number).padStart(2, '0'),
  'lower-alpha': letters,
  'upper-alpha': (number) => letters(number).toUpperCase(),
  'lower-latin': letters,
  'upper-latin': (number) => letters(number).toUpperCase(),
  'lower-roman': roman,
  'upper-roman': (number) => roman(number).toUpperCase(),
};

// The number of each list's last item.
const counted = new Map();

// Returns what stands before an item of a list, as `written` does, and counts it. Items are asked for in their order.
const markerOf = (item, { display, listStyleType, listStyleImage }) => {
  const list = parent(item);
  const isOrdered = list?.localName === 'ol';
  const step = isOrdered && list.reversed ? -1 : 1;
  const items = () => list.querySelectorAll(':scope > li').length;
  const first = !isOrdered ? 1 : list.hasAttribute('start') || step > 0 ? list.start : items();
  const number = item.hasAttribute('value') ? item.value : (counted.get(list) ?? first - step) + step;
  counted.set(list, number);
  const isNumber = display === 'list-item' && listStyleImage === 'none' && numerals[listStyleType];
  if (!isNumber) return null;
  const text = `${number > 0 && number < 4000 ? numerals[listStyleType](number) : number}. `;
  return measured(text, getComputedStyle(item, '::marker'), '::marker');
};

const pen = new OffscreenCanvas(1, 1).getContext('2d');

// Returns the words that a style writes before or after an element, their width, and the gap between them and the
// element's own; null if there are none. Icons are letters for private use.
const written = (element, which) => {
  const style = getComputedStyle(element, which);
  const { content, display, position } = style;
  const isText = content[0] === '"' && display.startsWith('inline') && position === 'static';
  return isText && /[\p{L}\p{N}]/u.test(content) && !/\p{Co}/u.test(content) ? measured(quoted(content), style, which) : null;
};

const measured = (text, style, which) => {
  pen.font = style.font;
  const side = which === '::before' ? 'Right' : 'Left';
  return { text, width: pen.measureText(text).width, gap: parseFloat(style[`margin${side}`]) + parseFloat(style[`padding${side}`]) || 0 };
};
