// The words as a document of its own, out of sight, for screen readers and everything else that reads pages: headings,
// paragraphs, lists, tables, alternative texts and links. It is filled when the browser is idle.

import { element } from "../dom.js";
import { SOFT_HYPHEN, centreOf, contains, gap } from "../../text/document.js";
import { whenIdle } from "./idle.js";

/**
 * Creates the document, and a link before it that skips it. Returns its elements. `anchor(link, attributes, text)`
 * creates the element of a link.
 */
export function readingDocument(text, anchor) {
  const end = element("span", { tabindex: "-1" });
  const skip = element("a", { href: "#", class: "skip", onclick: skipText }, "Skip the text of the picture");
  const sheet = element("div", { lang: text.language || null });
  const reading = element("section", { class: "reading", "aria-label": "Text of the picture" }, skip, sheet, end);
  whenIdle()(text.pages, (page) => sheet.append(pageOf(page, text.pages.length > 1)));

  function skipText(event) {
    event.preventDefault();
    end.focus();
  }

  function pageOf(page, isNamed) {
    const links = new Set(page.links);
    const blocks = page.blocks.map((block) => ({ node: blockOf(block, links), lines: block.lines }));
    const name = isNamed ? { role: "group", "aria-label": `Page ${page.label || page.number}` } : {};
    // Links without words, such as pictures.
    const rest = [...links].filter(({ url }) => url).map((link) => element("p", {}, anchor(link, {}, link.url)));
    return element("div", name, ...grouped(blocks), ...rest);
  }

  /** Creates the element of a block, and takes the links in it from those that are left. */
  function blockOf({ role, lines, alternative }, links) {
    if (role === "img") return alternative ? element("p", {}, element("span", { role: "img", "aria-label": alternative })) : null;
    const [, level] = /^h(\d)$/.exec(role) ?? [];
    // The page's own heading is the first.
    return element(level ? `h${Math.min(Number(level) + 1, 6)}` : role, {}, ...wordsOf(lines, links));
  }

  /** Returns the words of lines: texts and links. */
  function wordsOf(lines, links) {
    const runs = [];
    const left = [...links];
    let before = "";
    for (const line of lines) {
      let space = before && gap(before, line.text);
      before = line.text;
      const near = left.filter(({ box }) => touch(box, line.box));
      for (const { from, to, start, end } of line.words) {
        const word = line.text.slice(from, to);
        const centre = line.middleAt((start + end) / 2);
        // A link within a word, such as a footnote's number, is the word's.
        const isWithin = ({ place, above }) => !above && place >= start && place <= end;
        const link = near.find(({ box }) => contains(box, centre)) ?? near.find(({ box }) => isWithin(line.locate(centreOf(box))));
        const last = runs.at(-1);
        if (last && last.link === link) last.text += space + word;
        else runs.push({ link, text: space + word });
        space = " ";
      }
    }
    return runs.map(({ link, text }) => {
      const plain = text.replaceAll(SOFT_HYPHEN, "");
      if (!link) return plain;
      links.delete(link);
      return anchor(link, {}, plain);
    });
  }
  return reading;
}

const touch = (a, b) => a.x < b.x + b.width && a.x + a.width > b.x && a.y < b.y + b.height && a.y + a.height > b.y;

/** Puts list items that follow each other into a list, and cells into the rows of a table. */
function grouped(blocks) {
  const made = [];
  let bottom = 0;
  for (const { node, lines } of blocks) {
    const around = { li: "ul", td: "table" }[node?.localName];
    if (!around) {
      if (node) made.push(node);
      continue;
    }
    // Browsers take a table without borders for layout unless it has the role.
    if (made.at(-1)?.localName !== around) made.push(element(around, { role: around === "table" && around }));
    let group = made.at(-1);
    if (around === "table") {
      // A cell below all cells of a row is in the next one.
      const isNext = !group.lastChild || lines[0]?.box.y >= bottom;
      if (isNext) group.append(element("tr"));
      bottom = Math.max(isNext ? 0 : bottom, ...lines.map(({ box }) => box.y + box.height));
      group = group.lastChild;
    }
    group.append(node);
  }
  return made;
}
