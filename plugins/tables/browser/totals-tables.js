import { bar } from '../../../core/pages/data-views/bars.js';
import { column, numbers } from '../../../core/pages/data-views/table.js';
import { h } from '../../../core/pages/shared/dom.js';
import { decimalsOf, number, rounded } from '../../../core/pages/shared/format.js';
import { groupTexts, inSentence, numberTexts } from './cells.js';

/** @import { Column, Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */

/**
 * @typedef {{ groups: readonly Column[], of: Column | undefined }} Choice
 * @typedef {(column: Column, value: string | null) => void} OnPick
 */

/** @type {readonly (readonly [measure: string, label: string])[]} */
const MEASURES = [
  ['mean', 'Mean'],
  ['count', 'Rows'],
  ['sum', 'Sum'],
  ['min', 'Minimum'],
  ['max', 'Maximum'],
];

const DIGITS = 4;

/** Returns a function that shows means with the same number of decimals. @param {readonly number[]} values */
export const meanTexts = (values) => {
  const most = Math.max(...values.map(Math.abs), 0);
  const whole = most === 0 ? 1 : Math.floor(Math.log10(most)) + 1;
  const decimals = Math.min(Math.max(DIGITS - whole, 0), decimalsOf(values));
  return (/** @type {number | null} */ value) =>
    value && Math.abs(value) < 10 ** -decimals ? rounded(value) : number(value, decimals);
};

/** @param {Row} row @param {string | undefined} measure */
const measured = (row, measure) => {
  const value = row[measure ?? ''] ?? null;
  return value === null ? null : Number(value);
};

/** @param {Column} column @param {Table['key']} key @param {readonly Row[]} rows @param {OnPick} onpick */
const groupColumn = (column, key, rows, onpick) => {
  const text = groupTexts(column, key, rows);
  return {
    label: column.label,
    key: column.name,
    name: 'short',
    numeric: column.kind === 'number',
    value: (/** @type {Row} */ row) => {
      const value = row[column.name] ?? null;
      return typeof value === 'boolean' ? Number(value) : value;
    },
    cell: (/** @type {Row} */ row) => {
      const value = row[column.name] ?? null;
      const pick = () => onpick(column, value === null ? null : String(value));
      return h('button', { class: 'value', type: 'button', onclick: pick }, text(row));
    },
  };
};

/** @param {Table} table @param {Choice} choice @param {readonly Row[]} rows @param {OnPick} onpick */
export const listColumns = ({ key, measures }, { groups, of }, rows, onpick) => {
  const valueIn = (/** @type {Row} */ row, /** @type {string} */ measure) => measured(row, measures[measure]);
  /** @param {string} measure @param {string} label @param {boolean} isDrawn */
  const measureColumn = (measure, label, isDrawn) => {
    const values = rows.map((row) => valueIn(row, measure)).filter((value) => value !== null);
    const text = measure === 'mean' ? meanTexts(values) : numberTexts(values);
    const scale = { least: Math.min(0, ...values), most: Math.max(0, ...values), color: 'accent' };
    const made = numbers(label, (/** @type {Row} */ row) => valueIn(row, measure), text, { key: measure });
    const drawn = (/** @type {Row} */ row) => {
      const value = valueIn(row, measure);
      return [text(value), value === null ? null : bar(value, scale)];
    };
    return isDrawn ? { ...made, cell: drawn } : made;
  };
  const shown = MEASURES.filter(([measure]) => of || measure === 'count');
  return [
    ...groups.map((group) => groupColumn(group, key, rows, onpick)),
    ...shown.map(([measure, label], index) => measureColumn(measure, label, index === 0)),
  ];
};

const MOST_ACROSS = 12;

/** @param {Choice} choice @param {readonly Row[]} rows */
export const isCrossable = ({ groups: [, across] }, rows) =>
  across !== undefined && rows.length > 0 && new Set(rows.map((row) => row[across.name])).size <= MOST_ACROSS;

/** @param {string} text @param {number} share */
const shaded = (text, share) => {
  const element = h('span', { class: 'shaded' }, text);
  element.style.backgroundColor = `color-mix(in srgb, var(--accent) ${Math.round(share * 35)}%, transparent)`;
  return element;
};

/** @param {Table} table @param {Choice} choice @param {readonly Row[]} rows @param {OnPick} onpick */
export const crossTable = ({ key, measures }, { groups, of }, rows, onpick) => {
  const [down, across] = /** @type {[Column, Column]} */ (groups);
  const measure = of ? measures['mean'] : measures['count'];
  const values = rows.map((row) => measured(row, measure)).filter((value) => value !== null);
  const numberText = of ? meanTexts(values) : numberTexts(values);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  /** @type {Map<unknown, Map<unknown, Row>>} */
  const cells = new Map();
  for (const row of rows) {
    const line = cells.get(row[down.name]) ?? new Map();
    cells.set(row[down.name], line.set(row[across.name] ?? null, row));
  }
  const text = groupTexts(across, key, rows);
  const headings = new Map(rows.map((row) => [row[across.name] ?? null, row]));
  // Null sorts last, as in API responses. Numbers sort by value. `Number` returns NaN for text, so text sorts
  // alphabetically.
  const order = [...headings.keys()].sort(
    (a, b) => Number(a === null) - Number(b === null) || Number(a) - Number(b) || (`${a}` < `${b}` ? -1 : 1),
  );
  return {
    rows: [...cells.values()].map((line) => /** @type {Row} */ (line.values().next().value)),
    columns: [
      { ...groupColumn(down, key, rows, onpick), label: `${down.label} by ${inSentence(across.label)}` },
      ...order.map((value) =>
        column(
          String(text(/** @type {Row} */ (headings.get(value)))),
          (/** @type {Row} */ row) => measured(cells.get(row[down.name])?.get(value) ?? {}, measure),
          (one) => (one === null ? '–' : shaded(numberText(one), (one - least) / (most - least || 1))),
          { numeric: true },
        ),
      ),
    ],
  };
};
