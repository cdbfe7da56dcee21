/**
 * Matches control characters. In file names or error messages, they could clear the screen or change the text
 * direction.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes control characters except newlines and tabs. Does not change the meaning of JSON. */
export const printable = (text: string): string =>
  text.replace(UNSAFE, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));

/** Escapes control characters in text that must stay on one line, such as a table cell. */
export const printableLine = (text: string): string => text.replace(UNSAFE, escaped);

export const printableData = (value: unknown): unknown => {
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.map(printableData);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [printable(name), printableData(each)]));
};
