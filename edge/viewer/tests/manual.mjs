// A manual as the text of a picture: pages side by side, with headings, paragraphs, a list, a table, a picture, links
// and an outline. Letters are half as wide as their line is high.

const PAGE = { width: 1100, height: 1500, gap: 40, left: 100 };
const COLUMNS = 4;

/** Returns a line of words at a place of a page. */
export function line(text, x, y, height = 30, more = {}) {
  const spans = text.split(" ").flatMap((word, index) => [index > 0 ? height / 2 : 0, (word.length * height) / 2]);
  const width = spans.reduce((sum, span) => sum + span, 0);
  return { at: [x, y, width, height], text, spans, ...more };
}

/** Returns the text of a manual with a number of pages, and the size of its picture: `{ text, size }`. */
export function manual(count, total = count) {
  const pages = Array.from({ length: count }, (_, index) => page(index));
  const outline = pages.map((_, index) => ({ depth: index % 2, title: `Chapter ${index + 1}`, page: index, y: 100 }));
  const across = Math.min(count, COLUMNS) * (PAGE.width + PAGE.gap) - PAGE.gap;
  const down = Math.ceil(count / COLUMNS) * (PAGE.height + PAGE.gap) - PAGE.gap;
  return { text: { version: 1, language: "en", total, pages, outline: count > 1 ? outline : [] }, size: { width: across, height: down } };
}

function page(index) {
  const at = [(index % COLUMNS) * (PAGE.width + PAGE.gap), Math.floor(index / COLUMNS) * (PAGE.height + PAGE.gap), PAGE.width, PAGE.height];
  const number = index + 1;
  const { left } = PAGE;
  const blocks = [
    { role: "h1", lines: [line(`Chapter ${number}`, left, 100, 60)] },
    { role: "p", lines: [line(`The tide of day ${number} rises in the harbour, as the exam\u00ad`, left, 220), line("ples of the Café below show. A short line.", left, 270)] },
    { role: "p", lines: [line("Read the notes, and turn the page.", left, 360)] },
    { role: "li", lines: [line("High water at noon", left + 40, 450)] },
    { role: "li", lines: [line("Low water at six", left + 40, 500)] },
    { role: "img", at: [left, 600, 400, 300], alternative: "A chart of tides" },
    { role: "td", lines: [line("Port", left, 950)] },
    { role: "td", lines: [line("High water", left + 300, 950)] },
    { role: "td", lines: [line("Brest", left, 1000)] },
    { role: "td", lines: [line("12:10", left + 300, 1005)] },
    { role: "p", lines: [{ ...line("Upright margin", 0, 0), at: [1000, 700, 30, 210], angle: 90 }] },
  ];
  const links = [
    { at: [left + 75, 355, 150, 40], to: "https://example.com/notes" }, // "the notes,"
    { at: [left + 375, 355, 140, 40], to: index + 1 }, // "the page."
    { at: [left + 345, 1005, 30, 30], to: "https://example.com/noon" }, // "10" of "12:10"
    { at: [left, 450, 300, 30], to: "javascript:alert(1)" },
  ];
  return { at, label: index === 0 ? "i" : String(number), blocks, links };
}
