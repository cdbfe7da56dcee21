import { keepInAddress } from '../../pages/data-views/address.js';
import { h } from '../../pages/shared/dom.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./tables.js').Column} Column
 * @typedef {import('./row-figures.js').Row} Row
 */

/** Maximum number of suggested values per filter field. */
const MOST_SUGGESTED = 200;

/** @param {Column | undefined} column @returns {Record<string, string>} attributes for an `<input>` */
const inputType = (column) => {
  if (column?.kind === 'date') return { type: 'date' };
  return column?.kind === 'number' ? { type: 'number', step: 'any' } : { type: 'text' };
};

/**
 * @param {{ parameter: string, label: string, column: Column | undefined, list?: string }} field `list`: id of a
 *   `<datalist>` with suggestions
 * @param {URLSearchParams} chosen @param {() => void} onchange
 */
const fieldOf = ({ parameter, label, column, list }, chosen, onchange) => {
  const id = `by-${parameter}`;
  const value = chosen.get(parameter) ?? '';
  const input = h('input', { id, ...inputType(column), value, list, autocomplete: 'off' });
  input.addEventListener('change', () => {
    if (input.value === '') chosen.delete(parameter);
    else chosen.set(parameter, input.value);
    keepInAddress({ [parameter]: input.value });
    onchange();
  });
  return h('div', {}, h('label', { for: id, title: column?.description || undefined }, label), input);
};

/**
 * Creates input fields that filter a table's rows, and keeps the chosen filters in the page address.
 * @param {Table} table @param {URLSearchParams} chosen updated when the user changes a filter
 * @param {readonly Row[]} rows source of the suggested values @param {() => void} onchange
 */
export const filterFields = ({ columns, filters }, chosen, rows, onchange) =>
  filters.flatMap((name) => {
    const column = columns.find((each) => each.name === name);
    if (column?.kind === 'number' || column?.kind === 'date') {
      return [
        fieldOf({ parameter: `${name}[gte]`, label: `${column.label} from`, column }, chosen, onchange),
        fieldOf({ parameter: `${name}[lte]`, label: `${column.label} to`, column }, chosen, onchange),
      ];
    }
    const list = `values-${name}`;
    const values = [...new Set(rows.map((row) => String(row[name] ?? '')))].sort().slice(0, MOST_SUGGESTED);
    return [
      fieldOf({ parameter: `${name}[eq]`, label: column?.label ?? name, column, list }, chosen, onchange),
      h('datalist', { id: list }, ...values.map((value) => h('option', { value }))),
    ];
  });
