/**
 * Derives names of columns and collections from headings. Names are ASCII in snake case, which works in URLs, SQL and
 * programs.
 */
import anyAscii from 'any-ascii';
import { nearest } from '../../validation/nearest.js';

export interface ColumnName {
  readonly name: string;
  readonly heading: string;
  readonly note?: string;
}

const WORDS: Readonly<Record<string, string>> = { '%': ' percent ', '#': ' number ', '&': ' and ' };

const snakeCase = (text: string): string =>
  anyAscii(text.replaceAll(/[%#&]/g, (sign) => WORDS[sign]!))
    .replaceAll(/['’]/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');

/** Converts `Größe (cm)` to `grosse_cm`. Returns an empty string if the text has no letters or digits. */
export const nameOf = (text: string): string => {
  const name = snakeCase(text);
  return name === '' || /^[a-z]/.test(name) ? name : `c_${name}`;
};

const numbered = (name: string, taken: ReadonlySet<string>): string => {
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name}_${number}`)) number++;
  return `${name}_${number}`;
};

/**
 * Returns a unique column name for each heading. Names set by the user, and headings that are valid names, take
 * precedence over derived names.
 */
export const columnNames = (headings: readonly string[], given: ReadonlyMap<string, string>): readonly ColumnName[] => {
  const wanted = headings.map((heading, i) => {
    const name = nameOf(heading) || `column_${i + 1}`;
    return given.get(heading) ?? given.get(name) ?? name;
  });
  const isFixed = (i: number): boolean => wanted[i] === headings[i] || wanted[i] === given.get(headings[i]!);
  const taken = new Set<string>();
  const names = new Map<number, string>();
  const assign = (i: number): void => {
    const name = numbered(wanted[i]!, taken);
    taken.add(name);
    names.set(i, name);
  };
  for (const i of headings.keys()) if (isFixed(i)) assign(i);
  for (const i of headings.keys()) if (!names.has(i)) assign(i);
  return headings.map((heading, i) => {
    const name = names.get(i)!;
    const note = name === wanted[i] ? undefined : `another column is called ${JSON.stringify(wanted[i])}`;
    return { name, heading, ...(note !== undefined && { note }) };
  });
};

const MAX_LISTED = 20;

export const unknownColumn = (name: string, names: readonly string[]): string => {
  const guess = nearest(name, names);
  const listed = names.length > MAX_LISTED ? `${names.slice(0, MAX_LISTED).join(', ')}, ...` : names.join(', ');
  return `there is no column "${name}"${guess ? `; did you mean "${guess}"?` : `; the columns are ${listed}`}`;
};
