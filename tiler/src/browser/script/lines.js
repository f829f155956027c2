// Puts the words of a document into lines and blocks, by their places. Rectangles are those of the DOM.
class Lines {
  blocks = [];
  words = 0; // number of words so far
  block = null; // the block that is being read
  line = null; // its last line
  spaced = true; // there is white space before the next word
  bordered = false; // there is the border of a box before it
  ahead = null; // text that a style writes before it

  begin(role, { direction, writingMode }) {
    this.block ??= { role, lines: [], rtl: direction === 'rtl', columns: writingMode.startsWith('vertical') ? writingMode : null };
  }

  end() {
    if (this.block?.lines.length) this.blocks.push(this.block);
    this.block = this.line = null;
    this.spaced = true;
  }

  // Text from top to bottom has its lines as if it ran from the left to the right, the first at the top.
  upright({ left, top, right, bottom }) {
    if (!this.block.columns) return { left, top, right, bottom };
    const [above, below] = this.block.columns === 'vertical-lr' ? [left, right] : [-right, -left];
    return { left: top, top: above, right: bottom, bottom: below };
  }

  // Adds letters without white space. They go on with the last word, unless there is white space or a gap that is seen.
  add(text, rect, em) {
    this.push(text, this.upright(rect), em);
  }

  push(text, box, em) {
    this.pushAhead(box, em);
    const { block, line } = this;
    const { left, top, right, bottom } = box;
    const last = line?.words.at(-1);
    const middle = (top + bottom) / 2;
    const follows = last && (block.rtl ? right <= last.left + 1 : left >= last.right - 1);
    // A word of the other direction may be before the last one.
    const isBeside = last && middle > line.top && middle < line.bottom && (follows || left < line.right + em && right > line.left - em);
    const gap = isBeside ? Math.max(left - last.right, last.left - right) : 0;
    if (isBeside && !this.spaced && gap < (this.bordered ? 0.2 : 0.5) * em) {
      last.text += text;
      last.left = Math.min(last.left, left);
      last.right = Math.max(last.right, right);
    } else {
      const goesOn = last && !isBeside && !this.spaced && !this.bordered;
      if (goesOn && !last.text.endsWith('\u00ad')) last.text += '\u00ad';
      if (!isBeside) block.lines.push(this.line = { words: [], left, top, right, bottom });
      this.line.words.push({ text, left, right });
      this.words++;
    }
    this.line.left = Math.min(this.line.left, left);
    this.line.top = Math.min(this.line.top, top);
    this.line.right = Math.max(this.line.right, right);
    this.line.bottom = Math.max(this.line.bottom, bottom);
    this.spaced = this.bordered = false;
  }

  // Adds the text that a style writes before a word.
  pushAhead({ left, top, right, bottom }, em) {
    if (!this.ahead) return;
    const { text, width, gap } = this.ahead;
    this.ahead = null;
    const [from, to] = this.block.rtl ? [right + gap, right + gap + width] : [left - gap - width, left - gap];
    this.pushWritten(text, { left: from, top, right: to, bottom }, em);
    this.bordered = true;
  }

  // Adds the text that a style writes after the last word.
  addAfter({ text, width, gap }, em) {
    const last = this.line?.words.at(-1);
    if (!last) return;
    this.bordered = true;
    const { top, bottom } = this.line;
    const [left, right] = this.block.rtl ? [last.left - gap - width, last.left - gap] : [last.right + gap, last.right + gap + width];
    this.pushWritten(text, { left, top, right, bottom }, em);
  }

  pushWritten(text, { left, top, right, bottom }, em) {
    for (const { 0: word, index } of text.matchAll(/\S+/g)) {
      this.spaced ||= index > 0;
      const [start, end] = [index, index + word.length].map((at) => at / text.length * (right - left));
      const [from, to] = this.block.rtl ? [right - end, right - start] : [left + start, left + end];
      this.push(word, { left: from, top, right: to, bottom }, em);
    }
    this.spaced ||= /\s$/.test(text);
  }

  finished() {
    return this.blocks.map(({ role, lines, rtl, columns, at, alternative, frame }) => {
      const finish = ({ text, at, words, left, top, right, bottom }) => {
        if (text !== undefined) return { text, at, spans: [], angle: 0, rtl: false };
        const [across, down] = [right - left, bottom - top];
        const horizontal = [left, top, across, down];
        const vertical = [columns === 'vertical-lr' ? top : -bottom, left, down, across];
        const backwards = words.filter((word, index) => index > 0 && word.right <= words[index - 1].left + 1).length;
        const isRtl = rtl || backwards * 2 > words.length;
        return {
          text: words.map((word) => word.text).join(' '),
          at: columns ? vertical : horizontal,
          // The beginning and the end of each word.
          spans: words.flatMap((word) => isRtl ? [right - word.right, right - word.left] : [word.left - left, word.right - left]),
          angle: columns ? 90 : 0,
          rtl: isRtl,
        };
      };
      return { role, lines: lines?.map(finish), at, alternative, frame };
    });
  }
}
