/**
 * Makes text safe for terminals. File names, key names and error messages may contain control characters that clear the
 * screen, imitate output or change the text direction.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Writes control characters, except newlines and tabs, in the form `\u001b`. JSON text keeps its value. */
export const printable = (text: string): string =>
  text.replace(UNSAFE, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));

/** The same for text that must stay on one line, such as the cell of a table. */
export const printableLine = (text: string): string => text.replace(UNSAFE, escaped);

/** Returns a copy of plain data in which all strings are safe, including property names. */
export const printableData = (value: unknown): unknown => {
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.map(printableData);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [printable(name), printableData(each)]));
};
