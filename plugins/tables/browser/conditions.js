import { listIn } from '../../../core/pages/data-views/address.js';

/** @import { Column, Table } from './tables.js' */

/** @typedef {{ column: Column, operator: string, value: string }} Condition */

/**
 * Upper bound for all timestamps of a day. The API compares timestamps as text, and `2026-01-31T24` sorts after every
 * time on that day.
 */
export const DAY_END = 'T24';

const FILTER = /^(.+)\[(eq|not|in|gt|gte|lt|lte|null)\]$/;

/** Parameters in the address of a table that are not filters. */
const OF_PAGE = new Set('q tab sort columns after from facets totals time by of as order form value'.split(' '));

/** @param {string} parameter @returns {[name: string, operator: string]} */
const longForm = (parameter) => {
  const [, name = parameter, bound] = /^(.+)_(from|to)$/.exec(parameter) ?? [];
  return [name, bound === 'from' ? 'gte' : bound === 'to' ? 'lte' : 'eq'];
};

/**
 * Expands the API's short forms of filters, such as `price_from`. Returns the parameters that are neither filters of
 * the table nor choices of the page.
 * @param {Table} table @param {URLSearchParams} query
 */
export const expandFilters = ({ filters }, query) => {
  /** @type {string[]} */
  const unknown = [];
  for (const [parameter, value] of [...query]) {
    const [name, operator] = filters.includes(parameter) ? [parameter, 'eq'] : longForm(parameter);
    if (OF_PAGE.has(parameter) || filters.includes(FILTER.exec(parameter)?.[1] ?? '')) continue;
    if (filters.includes(name)) {
      query.delete(parameter);
      query.set(`${name}[${operator}]`, value);
    } else unknown.push(parameter);
  }
  return unknown;
};

/** @param {Table} table @param {URLSearchParams} query @returns {Condition[]} */
export const conditionsOf = ({ columns, filters }, query) =>
  [...query].flatMap(([parameter, text]) => {
    const [, name = '', operator = ''] = FILTER.exec(parameter) ?? [];
    const column = columns.find((each) => each.name === name && filters.includes(name));
    const value = text.trim();
    return column && value ? [{ column, operator, value }] : [];
  });

/** Appends `*` to the last word, because the user might still be typing it. @param {string} typed */
export const searchFor = (typed) => (/[\p{L}\p{N}]$/u.test(typed.trim()) ? `${typed.trim()}*` : typed.trim());

/** @param {Table} table @param {URLSearchParams} query @param {string} [except] @returns {URLSearchParams} */
export const matchingOf = (table, query, except) => {
  const parameters = new URLSearchParams();
  for (const { column, operator, value } of conditionsOf(table, query)) {
    if (column.name !== except) parameters.set(`${column.name}[${operator}]`, value);
  }
  const search = searchFor(query.get('q') ?? '');
  if (table.searches && /[\p{L}\p{N}]/u.test(search)) parameters.set('q', search);
  return parameters;
};

/** @param {Table} table @param {URLSearchParams} query */
export const shownColumns = ({ columns }, query) => {
  const named = listIn(query.get('columns')).flatMap((name) => columns.find((each) => each.name === name) ?? []);
  return named.length > 0 ? named : columns;
};

/** @param {Table} table @param {URLSearchParams} query */
export const listTarget = (table, query) => {
  const parameters = matchingOf(table, query);
  const sort = query.get('sort') ?? '';
  if (table.sorts.includes(sort.replace(/^-/, ''))) parameters.set('sort', sort);
  const shown = shownColumns(table, query);
  if (shown !== table.columns) parameters.set('fields', shown.map(({ name }) => name).join());
  return `/${table.name}${parameters.size > 0 ? `?${parameters}` : ''}`;
};

/** @param {string} value */
const quoted = (value) => (value === '' || /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

/** Splits a list at commas. Values can be in double quotes. @param {string} list @returns {string[]} */
export const valuesIn = (list) =>
  [...list.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g)]
    .filter(([match], index) => match !== '' || index === 0)
    .map(([, inQuotes, plain = '']) => inQuotes?.replaceAll('""', '"') ?? plain.trim());

/** @param {URLSearchParams} query @param {string} name @returns {(string | null)[]} */
export const chosenValues = (query, name) => {
  if (query.get(`${name}[null]`) === 'true') return [null];
  const [one, list] = [query.get(`${name}[eq]`), query.get(`${name}[in]`)];
  return list ? valuesIn(list) : one ? [one] : [];
};

/** @param {string} name @param {readonly (string | null)[]} values @returns {Record<string, string>} */
export const selecting = (name, values) => {
  const [first = null] = values;
  // The API accepts quotes only in lists, so a value that needs quotes is sent as a list.
  const isList = values.length > 1 || (first !== null && (first === '' || first !== first.trim()));
  return {
    [`${name}[null]`]: values.length === 1 && first === null ? 'true' : '',
    [`${name}[in]`]: isList ? values.map((each) => quoted(`${each}`)).join() : '',
    [`${name}[eq]`]: isList ? '' : (first ?? ''),
  };
};

/** @param {URLSearchParams} query @param {Column} column @param {string | null} value */
export const toggled = (query, { name, kind }, value) => {
  const chosen = chosenValues(query, name);
  const isAlone = value === null || kind === 'boolean';
  const kept = isAlone ? [] : chosen.filter((each) => each !== null && each !== value);
  return selecting(name, chosen.includes(value) ? kept : [...kept, value]);
};
