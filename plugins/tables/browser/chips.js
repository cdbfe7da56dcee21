import { h } from '../../../core/pages/shared/dom.js';
import { counted, list } from '../../../core/pages/shared/format.js';
import { conditionsOf, DAY_END, matchingOf, valuesIn } from './conditions.js';

/** @import { Condition } from './conditions.js' */
/** @import { Table } from './tables.js' */

/** @type {Readonly<Record<string, string>>} */
const OPERATORS = { eq: 'is', not: 'is not', gt: 'above', gte: 'from', lt: 'below', lte: 'to' };

/** @param {Condition} condition */
export const conditionText = ({ column: { label, kind }, operator, value }) => {
  if (operator === 'null') return `${label} has ${value === 'true' ? 'no' : 'a'} value`;
  if (operator === 'in') {
    const values = valuesIn(value).map((each) => each || '(empty)');
    return `${label} is ${new Intl.ListFormat('en', { type: 'disjunction' }).format(values)}`;
  }
  if (kind === 'boolean') return `${label} ${OPERATORS[operator]} ${value === 'true' ? 'yes' : 'no'}`;
  return `${label} ${OPERATORS[operator]} ${value.endsWith(DAY_END) ? value.slice(0, -DAY_END.length) : value}`;
};

/** @param {Table} table @param {URLSearchParams} query @param {number | null | undefined} count */
export const filtersText = (table, query, count) => {
  if (matchingOf(table, query).size === 0) return '';
  const q = query.get('q') ?? '';
  const filters = [...(q ? [`“${q}”`] : []), ...conditionsOf(table, query).map(conditionText)];
  const rows = typeof count === 'number' ? `${counted(count, 'row')} ${count === 1 ? 'matches' : 'match'}` : 'Filtered';
  return `${rows}: ${list(filters)}.`;
};

/** @param {Table} table @param {URLSearchParams} query */
export const noRows = (table, query) => {
  const [title, advice] =
    matchingOf(table, query).size > 0
      ? ['No matching rows', 'Remove a filter above, or search for other words.']
      : ['No rows', 'This table is empty.'];
  return h('div', { class: 'notice' }, h('h2', title), h('p', advice));
};

/** @param {Table} table @param {URLSearchParams} query @param {(change: Record<string, string>) => void} choose */
export const chipsOf = (table, query, choose) => {
  const q = query.get('q') ?? '';
  const chips = [
    ...(q ? [{ text: `“${q}”`, parameter: 'q' }] : []),
    ...conditionsOf(table, query).map((condition) => ({
      text: conditionText(condition),
      parameter: `${condition.column.name}[${condition.operator}]`,
    })),
  ];
  const none = Object.fromEntries(chips.map(({ parameter }) => [parameter, '']));
  return [
    ...chips.map(({ text, parameter }) =>
      h(
        'button',
        { type: 'button', class: 'chip', 'aria-label': `Remove: ${text}`, onclick: () => choose({ [parameter]: '' }) },
        h('span', text),
        ' ×',
      ),
    ),
    ...(chips.length > 1
      ? [h('button', { type: 'button', class: 'quiet', onclick: () => choose(none) }, 'Clear all')]
      : []),
  ];
};
