import { badge } from '../../../../../core/pages/data-views/badge.js';
import { lineOf } from '../../../../../core/pages/data-views/drawing.js';
import { paint, svg } from '../../../../../core/pages/data-views/svg.js';
import { column, dataTable, numbers } from '../../../../../core/pages/data-views/table.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { number, percent, points } from '../../../../../core/pages/shared/format.js';
import { allIndexes } from '../index-data.js';
import { addMonths, quartersBetween } from '../market-figures.js';
import { marketLink } from '../search.js';

/** @import { Row } from './runs.js' */

const SPARK_MONTHS = 60;

/** In narrower windows, the style sheet hides the columns with the class `wide`. */
const WIDE = '(min-width: 40.01rem)';

/** @param {Row} row */
const band = ({ lower, upper }) =>
  lower === null ? null : h('small', { class: 'muted' }, `${number(lower, 1)} to ${number(upper, 1)}%`);

/** @type {readonly import('../../../../../core/pages/data-views/table.js').Column<Row>[]} */
const COLUMNS = [
  {
    label: 'Market',
    key: 'name',
    cell: ({ cbsa, name, grade, signal }) => [
      marketLink(cbsa, name),
      h('small', { class: 'muted narrow' }, `${grade ?? '–'}, ${signal ?? '–'}`),
    ],
    value: ({ name }) => name,
  },
  {
    label: 'Forecast',
    cell: (row) => [h('b', percent(row.forecast)), band(row)],
    value: ({ forecast }) => forecast,
    numeric: true,
  },
  numbers('Last year', ({ last }) => last, percent, { key: 'last' }),
  numbers('Change', ({ change }) => change, points, { hint: 'Change in the forecast since the previous run' }),
  column('Grade', ({ grade }) => grade, badge, { name: 'wide' }),
  column('Signal', (row) => row.signal, badge, { name: 'wide' }),
];

/** Maximum number of codes per request. If the sparklines need more indexes, one request loads all indexes. */
const MOST_CODES = 100;

/**
 * @param {{ sort: string, whole: boolean, onsort: (sort: string) => void, onwhole: () => void }} options
 * @param {AbortSignal} signal
 */
export const marketList = (options, signal) => {
  const wide = matchMedia(WIDE);
  /** @type {string[]} */
  let quarters = [];
  /** @type {Map<string, Map<string, number>>} */
  let indexes = new Map();
  /** @type {Set<string>} */
  const missing = new Set();
  const fillSpark = (/** @type {HTMLElement} */ place) => {
    const code = place.dataset['cbsa'] ?? '';
    const values = indexes.get(code);
    if (values) place.replaceChildren(sparkLine(quarters.map((date) => values.get(date) ?? null)));
    else if (missing.add(code).size === 1) queueMicrotask(() => void loadMissing());
    return place;
  };
  const table = dataTable({
    caption: 'Markets, their 12-month forecasts, signals and risk grades.',
    columns: [
      ...COLUMNS,
      { label: 'Five years', name: 'spark wide', cell: ({ cbsa }) => fillSpark(h('span', { 'data-cbsa': cbsa })) },
    ],
    rows: /** @type {Row[]} */ ([]),
    scrolls: true,
    ...options,
  });
  /** @type {AbortSignal | undefined} */
  let shown;
  const loadMissing = async () => {
    if (!wide.matches) return;
    // The API rejects the whole request if one code is invalid.
    const codes = [...missing].filter((code) => /^\d{5}$/.test(code));
    missing.clear();
    const chosen = shown;
    if (!chosen || codes.length === 0) return;
    const some = codes.length > MOST_CODES ? [] : codes.toSorted();
    const loaded = await allIndexes(signal, quarters[0], quarters.at(-1), some).catch(() => undefined);
    if (!loaded || chosen.aborted) return;
    for (const code of codes) indexes.set(code, loaded.get(code) ?? new Map());
    for (const place of table.element.querySelectorAll('.spark span')) {
      fillSpark(/** @type {HTMLElement} */ (place));
    }
  };
  wide.addEventListener('change', () => void loadMissing(), { signal });
  return {
    ...table,
    /**
     * Sets the quarters that the sparklines cover. Must be called before `show`, which draws the sparklines.
     * @param {string} until @param {AbortSignal} chosen aborted when the user chooses another run
     */
    setSparkQuarters: (until, chosen) => {
      quarters = quartersBetween(addMonths(until, -SPARK_MONTHS), until);
      indexes = new Map();
      missing.clear();
      shown = chosen;
    },
  };
};

const [WIDTH, HEIGHT] = [80, 22];

/** @param {readonly (number | null)[]} values */
const sparkLine = (values) => {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (/** @type {number} */ index) => 2 + (index / Math.max(1, values.length - 1)) * (WIDTH - 4);
  const y = (/** @type {number} */ value) => HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6);
  return svg(
    'svg',
    { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' },
    svg('path', { d: lineOf(values, x, y).path, fill: 'none', stroke: paint('accent'), 'stroke-width': 1.5 }),
  );
};
