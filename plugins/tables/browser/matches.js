import { h } from '../../../core/pages/shared/dom.js';
import { plain } from '../../../core/pages/shared/format.js';
import { searchFor } from './conditions.js';

const WORD = /([\p{L}\p{N}\p{M}]+)/gu;

/**
 * Splits text into parts that match a search and parts that do not. The last word of the search also matches longer
 * words that start with it.
 * @param {string} text @param {string} search
 * @returns {{ text: string, isMatch: boolean }[]}
 */
export const partsOf = (text, search) => {
  const words = /** @type {readonly string[]} */ (plain(search).match(WORD) ?? []);
  const start = searchFor(search).endsWith('*') ? words.at(-1) : undefined;
  const isMatch = (/** @type {string} */ word) =>
    words.includes(word) || (start !== undefined && word.startsWith(start));
  return text
    .split(WORD)
    .filter((part) => part !== '')
    .map((part) => ({ text: part, isMatch: isMatch(plain(part)) }));
};

/** @param {string} text @param {string} search */
export const marked = (text, search) =>
  partsOf(text, search).map((part) => (part.isMatch ? h('mark', part.text) : part.text));
