/** Reads filters, search, order and columns from the page address, and converts them to API parameters. */
import { listIn } from '../../pages/data-views/address.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./tables.js').Column} Column
 * @typedef {{ column: Column, operator: string, value: string }} Condition
 */

/**
 * Appended to a day to make it an upper bound for timestamps. The API compares timestamps as text, and every time on
 * that day sorts before `T24`.
 */
export const DAY_END = 'T24';

const FILTER = /^(.+)\[(eq|not|in|gt|gte|lt|lte|null)\]$/;

/** @param {Table} table @param {URLSearchParams} query @returns {Condition[]} */
export const conditionsOf = ({ columns, filters }, query) =>
  [...query].flatMap(([parameter, text]) => {
    const [, name = '', operator = ''] = FILTER.exec(parameter) ?? [];
    const column = columns.find((each) => each.name === name && filters.includes(name));
    const value = text.trim();
    return column && value ? [{ column, operator, value }] : [];
  });

/**
 * Appends `*` to the last word, which might be unfinished, so that the word matches as a prefix.
 * @param {string} typed
 */
const searchFor = (typed) => (/[\p{L}\p{N}]$/u.test(typed.trim()) ? `${typed.trim()}*` : typed.trim());

/**
 * Returns API parameters for the filters and the search.
 * @param {Table} table @param {URLSearchParams} query @param {string} [except] a column whose filters are left out
 * @returns {URLSearchParams}
 */
export const matchingOf = (table, query, except) => {
  const parameters = new URLSearchParams();
  for (const { column, operator, value } of conditionsOf(table, query)) {
    if (column.name !== except) parameters.set(`${column.name}[${operator}]`, value);
  }
  const search = searchFor(query.get('q') ?? '');
  if (table.searches && /[\p{L}\p{N}]/u.test(search)) parameters.set('q', search);
  return parameters;
};

/**
 * Returns the columns that the user has chosen, in the chosen order, or else all columns.
 * @param {Table} table @param {URLSearchParams} query
 */
export const shownColumns = ({ columns }, query) => {
  const named = listIn(query.get('columns')).flatMap((name) => columns.find((each) => each.name === name) ?? []);
  return named.length > 0 ? named : columns;
};

/**
 * Returns the path and query of the API call for the rows, without paging.
 * @param {Table} table @param {URLSearchParams} query
 */
export const listTarget = (table, query) => {
  const parameters = matchingOf(table, query);
  const sort = query.get('sort') ?? '';
  if (table.sorts.includes(sort.replace(/^-/, ''))) parameters.set('sort', sort);
  const shown = shownColumns(table, query);
  if (shown !== table.columns) parameters.set('fields', shown.map(({ name }) => name).join());
  return `/${table.name}${parameters.size > 0 ? `?${parameters}` : ''}`;
};

/** Quotes a value for a comma-separated list, if necessary. @param {string} value */
const quoted = (value) => (value === '' || /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

/** Splits a comma-separated list whose values can be quoted. @param {string} list @returns {string[]} */
export const valuesIn = (list) =>
  [...list.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g)]
    .filter(([match], index) => match !== '' || index === 0)
    .map(([, inQuotes, plain = '']) => inQuotes?.replaceAll('""', '"') ?? plain.trim());

/**
 * Returns the values that the user has chosen to filter a column by. Null selects rows without a value.
 * @param {URLSearchParams} query @param {string} name @returns {(string | null)[]}
 */
export const chosenValues = (query, name) => {
  if (query.get(`${name}[null]`) === 'true') return [null];
  const [one, list] = [query.get(`${name}[eq]`), query.get(`${name}[in]`)];
  return list ? valuesIn(list) : one ? [one] : [];
};

/**
 * Returns the query changes that select values of a column instead of the currently selected ones.
 * @param {string} name @param {readonly (string | null)[]} values
 * @returns {Record<string, string>}
 */
export const selecting = (name, values) => {
  const [first = null] = values;
  // Only values in lists can have quotes. Without quotes, an empty value and surrounding spaces would be lost.
  const isList = values.length > 1 || (first !== null && (first === '' || first !== first.trim()));
  return {
    [`${name}[null]`]: values.length === 1 && first === null ? 'true' : '',
    [`${name}[in]`]: isList ? values.map((each) => quoted(`${each}`)).join() : '',
    [`${name}[eq]`]: isList ? '' : (first ?? ''),
  };
};

/**
 * Returns the query changes that select a value of a column, or deselect it if it is already selected.
 * @param {URLSearchParams} query @param {Column} column @param {string | null} value
 */
export const toggled = (query, { name, kind }, value) => {
  const chosen = chosenValues(query, name);
  const isAlone = value === null || kind === 'boolean';
  const kept = isAlone ? [] : chosen.filter((each) => each !== null && each !== value);
  return selecting(name, chosen.includes(value) ? kept : [...kept, value]);
};
