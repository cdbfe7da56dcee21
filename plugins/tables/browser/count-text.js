import { counted, exact, periodInWords } from '../../../core/pages/shared/format.js';
import { words } from './cells.js';

/** @import { Table } from './tables.js' */

/**
 * @typedef {{ count?: number | null, page?: import('./row-list.js').Page | undefined }} State `count`: undefined while
 *   the rows are counted, null if the API cannot count them
 */

/** On the last page, the number of matching rows is known even if the API cannot count. @param {State} state */
export const knownCount = ({ count, page }) => (page?.next === null ? page.from - 1 + page.rows.length : count);

/** Returns text such as `1–100 of 5,999 rows`. @param {State} state @param {boolean} isFiltered */
export const countText = (state, isFiltered) => {
  const { page } = state;
  const to = page && page.from - 1 + page.rows.length;
  const count = knownCount(state);
  const isWhole = !page || (page.from === 1 && page.next === null);
  const unknown = count === null && to ? `more than ${exact(to)}` : '…';
  const range = page && to ? `${exact(page.from)}–${exact(to)} of ` : '';
  const matching = isFiltered ? ' matching' : '';
  const known = typeof count === 'number' ? exact(count) : unknown;
  return `${isWhole ? '' : range}${known}${matching} ${count === 1 ? 'row' : 'rows'}`;
};

/**
 * @typedef {{ total?: number | undefined, newest?: string | undefined, largest?: string | undefined }} Facts `newest`: a
 *   date or a year; `largest`: a clause about the most common value of a column
 */

const DATE_LENGTH = 10;

/** @param {Pick<Table, 'name'>} table @param {Facts} facts */
export const titleOf = ({ name }, { total, newest, largest }) => {
  const end = newest?.length === DATE_LENGTH ? periodInWords(newest, 'daily') : newest;
  const size = total === undefined ? end && 'data' : counted(total, 'row');
  const whole = [words(name), size && `has ${size}`, end && `up to ${end}`].filter(Boolean).join(' ');
  return largest ? `${whole}; ${largest}` : whole;
};

/** @param {Pick<Table, 'name'>} table @param {Facts} facts @param {number | null | undefined} count */
export const filteredTitleOf = ({ name }, { total }, count) => {
  if (typeof count !== 'number') return `${words(name)}: matching rows`;
  const rows = total === undefined ? counted(count, 'row') : `${exact(count)} of ${counted(total, 'row')}`;
  return `${rows} in ${words(name)} ${count === 1 ? 'matches' : 'match'}`;
};
