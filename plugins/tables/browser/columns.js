import { h, keepingFocus } from '../../../core/pages/shared/dom.js';
import { shownColumns } from './conditions.js';

/** @import { Column, Table } from './tables.js' */

/** @param {readonly Column[]} columns @returns {(readonly [string, string])[]} */
export const optionsFor = (columns) => columns.map(({ name, label }) => [name, label]);

/**
 * @param {Column} column
 * @param {{ isShown: boolean, isFirst: boolean, isLast: boolean, ontoggle: () => void,
 *   onmove: (by: -1 | 1) => void }} options
 */
const itemOf = ({ name, label }, { isShown, isFirst, isLast, ontoggle, onmove }) => {
  const id = `column-${name}`;
  /** @type {(by: -1 | 1, text: string, label: string, disabled: boolean) => HTMLButtonElement} */
  const move = (by, text, title, disabled) =>
    h(
      'button',
      { id: `${id}${by}`, type: 'button', class: 'quiet', 'aria-label': title, disabled, onclick: () => onmove(by) },
      text,
    );
  return h(
    'li',
    h('input', { type: 'checkbox', id, checked: isShown, onchange: ontoggle }),
    h('label', { for: id }, label),
    ...(isShown ? [move(-1, '↑', `Move ${label} up`, isFirst), move(1, '↓', `Move ${label} down`, isLast)] : []),
  );
};

/**
 * @param {Table} table @param {URLSearchParams} query
 * @param {(columns: string) => void} onchange called with the names, separated by commas. An empty string means all
 *   columns.
 */
export const columnChoice = (table, query, onchange) => {
  const button = h('button', { type: 'button', class: 'quiet', popovertarget: 'columns' });
  const list = h('ol');
  const reset = h('button', { type: 'button', class: 'quiet', onclick: () => change(table.columns) }, 'Reset');
  const close = h('button', { type: 'button', popovertarget: 'columns', popovertargetaction: 'hide' }, 'Done');
  const element = h(
    'div',
    { id: 'columns', popover: 'auto', role: 'dialog', 'aria-label': 'Columns' },
    h('h2', 'Columns'),
    list,
    h('div', { class: 'row' }, close, reset),
  );

  /** @param {readonly Column[]} shown */
  const change = (shown) => {
    const names = shown.map(({ name }) => name).join();
    onchange(names === table.columns.map(({ name }) => name).join() ? '' : names);
    keepingFocus(show);
  };
  const show = () => {
    const shown = shownColumns(table, query);
    const others = table.columns.filter((column) => !shown.includes(column));
    button.textContent = others.length > 0 ? `Columns: ${shown.length} of ${table.columns.length}` : 'Columns';
    const items = [...shown, ...others].map((column, at) =>
      itemOf(column, {
        isShown: at < shown.length,
        isFirst: at === 0,
        isLast: at === shown.length - 1,
        ontoggle: () => change(at < shown.length ? shown.filter((each) => each !== column) : [...shown, column]),
        onmove: (by) => change(shown.with(at, /** @type {Column} */ (shown[at + by])).with(at + by, column)),
      }),
    );
    list.replaceChildren(...items);
  };
  show();
  return { button, element };
};
