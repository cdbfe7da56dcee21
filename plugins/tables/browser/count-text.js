import { exact } from '../../pages/shared/format.js';

/**
 * Returns the text above the rows, such as `1–100 of 5,999 rows`.
 * @param {{ count?: number | null, page?: import('./row-list.js').Page | undefined }} state `count`: number of matching
 *   rows, or undefined while they are counted, or null if the API cannot count them; `page`: the rows shown, if any
 * @param {boolean} isFiltered
 */
export const countText = ({ count: counted, page }, isFiltered) => {
  const to = page && page.from - 1 + page.rows.length;
  const count = page?.next === null ? to : counted;
  const isWhole = !page || (page.from === 1 && page.next === null);
  const unknown = count === null && to ? `more than ${exact(to)}` : '…';
  const range = page && to ? `${exact(page.from)}–${exact(to)} of ` : '';
  const matching = isFiltered ? ' matching' : '';
  const known = typeof count === 'number' ? exact(count) : unknown;
  return `${isWhole ? '' : range}${known}${matching} ${count === 1 ? 'row' : 'rows'}`;
};
