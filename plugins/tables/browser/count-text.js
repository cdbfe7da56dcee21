import { counted, exact } from '../../pages/shared/format.js';
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

/** @typedef {{ total: number | undefined, newest: string | undefined }} Facts */

/** @param {Pick<Table, 'name'>} table @param {Facts} facts */
export const titleOf = ({ name }, { total, newest }) => {
  const facts = [total !== undefined && counted(total, 'row'), newest && `up to ${newest}`].filter(Boolean);
  return [words(name), facts.join(', ')].filter(Boolean).join(': ');
};

/** @param {Pick<Table, 'name'>} table @param {Facts} facts @param {number | null | undefined} count */
export const filteredTitleOf = ({ name }, { total }, count) => {
  if (typeof count !== 'number') return `${words(name)}: matching rows`;
  return `${words(name)}: ${total === undefined ? counted(count, 'matching row') : `${exact(count)} of ${counted(total, 'row')}`}`;
};
