import { keepInAddress, listIn } from '../../../core/pages/data-views/address.js';
import { latestOf, showLatest } from '../../../core/pages/data-views/latest.js';
import { Problem, request } from '../../../core/pages/shared/api.js';
import { h } from '../../../core/pages/shared/dom.js';
import { exact } from '../../../core/pages/shared/format.js';
import { groupTexts } from './cells.js';
import { chosenValues, conditionsOf, DAY_END, matchingOf, selecting, toggled } from './conditions.js';

/** @import { Column, Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */

/** @typedef {(change: Record<string, string>) => void} Keep */

/** Number of values in the list: 10 at first, and more after each click on "More values". */
const SIZES = [10, 50, 250, 1000];

const INITIALLY_OPEN = 2;

/**
 * @param {Table} table @param {Column} column @param {URLSearchParams} query @param {number} size
 * @param {AbortSignal} signal
 */
const valuesOf = async (table, { name }, query, size, signal) => {
  const asked = matchingOf(table, query, name);
  asked.set('by', name);
  asked.set('sort', `-${table.measures['count']}`);
  asked.set('limit', `${size}`);
  const response = await request(`/totals/${table.name}?${asked}`, { signal });
  const rows = /** @type {readonly Row[]} */ ((await response.json()).data);
  return { rows, more: response.headers.has('Link') };
};

/**
 * @param {Table} table @param {Column} column @param {URLSearchParams} query @param {readonly Row[]} rows
 * @param {Keep} choose
 */
const valueList = ({ key, measures }, column, query, rows, choose) => {
  const count = (/** @type {Row} */ row) => Number(row[measures['count'] ?? ''] ?? 0);
  const shown = groupTexts(column, key, rows);
  const chosen = chosenValues(query, column.name);
  const most = Math.max(...rows.map(count));
  return h(
    'ul',
    { class: 'facet-values' },
    ...rows.map((row) => {
      const value = row[column.name] ?? null;
      const text = value === null ? null : String(value);
      const properties = {
        type: 'button',
        'aria-pressed': String(chosen.includes(text)),
        onclick: () => choose(toggled(query, column, text)),
      };
      const number = most > 0 && h('span', { class: 'number muted' }, exact(count(row)));
      const button = h('button', properties, h('span', shown(row)), number);
      button.style.backgroundSize = `${(count(row) / (most || 1)) * 100}% 100%`;
      return h('li', button);
    }),
  );
};

/** @type {readonly (readonly [operator: string, word: string])[]} */
const RANGE = [
  ['gte', 'from'],
  ['lte', 'to'],
];

/** @type {Readonly<Record<Column['kind'], typeof RANGE>>} */
const OPERATORS = { number: RANGE, date: RANGE, text: [['eq', 'is']], boolean: [] };

/** @param {Column} column @returns {Record<string, string>} */
const inputType = ({ kind }) => {
  if (kind === 'date') return { type: 'date' };
  return kind === 'number' ? { type: 'number', step: 'any' } : { type: 'text' };
};

/** @param {Column} column @param {URLSearchParams} query @param {Keep} choose */
const fieldsOf = (column, query, choose) => {
  const fields = OPERATORS[column.kind].map(([operator, word]) => {
    const parameter = `${column.name}[${operator}]`;
    const id = `by-${parameter}`;
    const input = h('input', { id, ...inputType(column), autocomplete: 'off' });
    // A filter for the last day of a range includes all times on that day.
    const end = operator === 'lte' && column.timed ? DAY_END : '';
    input.addEventListener('change', () => {
      const value = input.value.trim();
      if (operator === 'eq') choose(selecting(column.name, value ? [value] : []));
      else choose({ [parameter]: value && `${value}${end}` });
    });
    const show = () => {
      const value = query.get(parameter) ?? '';
      input.value = column.kind === 'date' ? value.slice(0, 10) : value;
    };
    show();
    return { show, element: h('div', h('label', { for: id }, `${column.label} ${word}`), input) };
  });
  return {
    element: h('div', { class: 'facet-fields' }, ...fields.map(({ element }) => element)),
    show: () => {
      for (const { show } of fields) show();
    },
  };
};

/** @param {unknown} error */
const problemOf = (error) => {
  if (error instanceof Problem) return error;
  throw error;
};

/** @param {Problem} problem */
const reasonOf = ({ status, code, message }) => {
  if (code === 'too_many_rows') return 'The table has too many rows to count its values.';
  if (/more than \d+ groups/.test(message)) return 'Too many different values to list.';
  if (status === 503) return 'Counting the values takes too long. Add filters, or try again later.';
  // The list of rows explains invalid filters.
  return code === 'invalid_parameter' ? '' : message;
};

/** The values of a boolean column, which need not be counted to be listed. */
const BOTH = [true, false];

/**
 * @param {Table} table @param {Column} column @param {URLSearchParams} query
 * @param {{ signal: AbortSignal, choose: Keep, isVisible: () => boolean, showFields: (isNeeded: boolean) => void }}
 *   options
 */
const facetValues = (table, column, query, { signal, choose, isVisible, showFields }) => {
  const next = latestOf(signal);
  const place = h('div');
  let size = 0;
  const more = () => {
    size += 1;
    void load();
  };
  /** @param {Awaited<ReturnType<typeof valuesOf>>} values */
  const render = ({ rows, more: hasMore }) => {
    const isEach = hasMore && rows.length > 1 && rows[0]?.[table.measures['count'] ?? ''] === 1;
    const note = rows.length === 0 ? 'No rows.' : isEach ? 'Each value occurs once.' : '';
    showFields(hasMore);
    const focused = place.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
    place.replaceChildren(
      note ? h('p', { class: 'muted' }, note) : valueList(table, column, query, rows, choose),
      hasMore && !isEach && size < SIZES.length - 1
        ? h('button', { type: 'button', class: 'quiet', onclick: more }, 'More values')
        : '',
    );
    if (focused !== undefined)
      [...place.querySelectorAll('button')].find((each) => each.textContent === focused)?.focus();
  };
  let requested = '';
  /** @param {Problem} problem */
  const refuse = (problem) => {
    requested = '';
    showFields(true);
    const reason = reasonOf(problem);
    const known = column.kind === 'boolean' ? BOTH.map((value) => ({ [column.name]: value })) : [];
    place.replaceChildren(
      reason && h('p', { class: 'muted' }, reason),
      known.length > 0 ? valueList(table, column, query, known, choose) : '',
    );
  };
  const load = async () => {
    const wanted = `${matchingOf(table, query, column.name)} ${chosenValues(query, column.name)} ${size}`;
    if (!isVisible() || wanted === requested) return;
    requested = wanted;
    await showLatest(
      next,
      place,
      (loading) => valuesOf(table, column, query, SIZES[size] ?? 0, loading).catch(problemOf),
      (made) => (made instanceof Problem ? refuse(made) : render(made)),
    );
  };
  return { element: place, load };
};

/**
 * @param {Table} table @param {Column} column @param {URLSearchParams} query
 * @param {{ signal: AbortSignal, open: boolean, choose: Keep, ontoggle: () => void, isVisible: () => boolean }} options
 */
const facet = (table, column, query, { signal, open, choose, ontoggle, isVisible }) => {
  const fields = fieldsOf(column, query, choose);
  /** A text column needs an input field only if its list of values is incomplete. @param {boolean} isNeeded */
  const showFields = (isNeeded) => {
    fields.element.hidden = column.kind === 'boolean' || (column.kind === 'text' && !isNeeded);
  };
  showFields(false);
  const values = facetValues(table, column, query, {
    signal,
    choose,
    isVisible: () => details.open && isVisible(),
    showFields,
  });
  const active = h('span', { class: 'active' });
  const details = h(
    'details',
    { class: 'facet', open, title: column.description || undefined },
    h('summary', column.label, ' ', active),
    fields.element,
    values.element,
  );
  const show = () => {
    const isFiltered = conditionsOf(table, query).some((each) => each.column === column);
    active.textContent = isFiltered ? 'filtered' : '';
    fields.show();
    void values.load();
  };
  details.addEventListener('toggle', () => {
    ontoggle();
    void values.load();
  });
  return { name: column.name, details, show };
};

/**
 * Returns the text and boolean columns in which values repeat. The columns with the fewest different values come first,
 * because they are the most likely categories.
 * @param {Table} table @param {readonly Row[]} sample
 */
export const groupColumns = ({ columns, filters }, sample) =>
  columns
    .filter(({ name, kind }) => filters.includes(name) && (kind === 'text' || kind === 'boolean'))
    .map((column) => {
      const values = sample.map((row) => row[column.name] ?? null).filter((value) => value !== null);
      return { column, different: new Set(values).size, all: values.length };
    })
    .filter(({ different, all }) => different < all)
    .sort((a, b) => a.different - b.different)
    .map(({ column }) => column);

const WIDE = '(min-width: 64rem)';

/**
 * @param {Table} table @param {URLSearchParams} query
 * @param {{ signal: AbortSignal, sample: readonly Row[], choose: Keep }} options
 */
export const facetPanel = (table, query, { signal, sample, choose }) => {
  const opened = groupColumns(table, sample).slice(0, INITIALLY_OPEN);
  const first = table.columns.filter((column) => opened.includes(column)).map(({ name }) => name);
  const open = query.has('facets') ? listIn(query.get('facets')) : first;
  const panel = h('details', { class: 'facets', open: matchMedia(WIDE).matches }, h('summary', 'Filters'));
  const keepOpen = () => {
    const names = facets.filter(({ details }) => details.open).map(({ name }) => name);
    const isFirst = names.join() === first.join();
    keepInAddress({ facets: isFirst ? null : names.join() || 'none' });
  };
  const facets = table.columns
    .filter(({ name }) => table.filters.includes(name))
    .map((column) =>
      facet(table, column, query, {
        signal,
        open: open.includes(column.name),
        choose,
        ontoggle: keepOpen,
        isVisible: () => panel.open,
      }),
    );
  const show = () => {
    for (const each of facets) each.show();
  };
  panel.append(...facets.map(({ details }) => details));
  panel.addEventListener('toggle', show);
  return { element: h('section', { 'aria-label': 'Filters' }, panel), show };
};
