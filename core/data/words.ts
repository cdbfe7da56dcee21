import type { Document } from '../contracts/dataset.js';

const ASCII = /^[\0-\x7f]*$/;
const BETWEEN_ASCII = /[^a-z0-9]+/;
const BETWEEN = /[^\p{L}\p{N}]+/u;

/** Normalization replaces compatibility forms such as full-width letters. */
const plain = (text: string): string =>
  ASCII.test(text) ? text.toLowerCase() : text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();

/** Splits text into words: sequences of letters and digits, in lower case and without accents. */
export const wordsOf = (text: string): readonly string[] => {
  const folded = plain(text);
  return folded.split(ASCII.test(folded) ? BETWEEN_ASCII : BETWEEN).filter((word) => word !== '');
};

export const searchWords = (search: string): readonly string[] => {
  const words = search.split(/\s+/).flatMap((term) => {
    const found = wordsOf(term);
    return found.map((word, i) => (term.endsWith('*') && i === found.length - 1 ? `${word}*` : word));
  });
  return [...new Set(words)].sort();
};

export const wordMatcher = (fields: readonly string[], words: readonly string[]): ((document: Document) => boolean) => {
  const whole = words.filter((word) => !word.endsWith('*'));
  const starts = words.filter((word) => word.endsWith('*')).map((word) => word.slice(0, -1));
  const parts = [...whole, ...starts];
  return (document) => {
    const texts = fields.map((field) => document[field]).filter((value) => typeof value === 'string');
    const text = plain(texts.join('\n'));
    // Substrings are checked first, because splitting text into words takes longer.
    if (!parts.every((part) => text.includes(part))) return false;
    const found = new Set(wordsOf(text));
    return (
      whole.every((word) => found.has(word)) &&
      starts.every((start) => [...found].some((word) => word.startsWith(start)))
    );
  };
};
