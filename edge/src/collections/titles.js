// The words by which an entry is found: folded as those in pictures are. What is written without spaces becomes a word a
// letter, so that any part of it is found.

import { fold } from "../../text/search.js";

/** Scripts without spaces between words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/gu;
/** Maximum number of words that are searched for. */
const MAX_WORDS = 10;
const WORD = /[\p{L}\p{N}]/u;

/** Returns a title as the index has it. */
export const indexed = (title) => fold(title).replace(UNSPACED, " $& ");

/**
 * Returns the expression of FTS5 for titles with all words of a query, or words that begin like them; "" if it has none.
 * One letter stands for itself: half of all titles have a word that begins with it.
 */
export function expressionOf(query) {
  const words = fold(query).split(/\s+/).filter((word) => WORD.test(word)).slice(0, MAX_WORDS);
  return words.map((word) => `"${indexed(word).replaceAll('"', " ")}"${[...word].length > 1 ? "*" : ""}`).join(" ");
}
