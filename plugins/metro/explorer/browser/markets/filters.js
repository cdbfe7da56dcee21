import { addressOf, listIn } from '../../../../../core/pages/data-views/address.js';
import { choice, labelledSelect } from '../../../../../core/pages/data-views/controls.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { counted, quarter } from '../../../../../core/pages/shared/format.js';
import { markOf } from '../basis.js';
import { addMonths } from '../market-figures.js';
import { STATES, statesOf } from '../search.js';
import { lastQuarterOf } from './runs.js';

/** @import { Row, Run } from './runs.js' */
/** @import { Measure } from './scales.js' */

/**
 * @typedef {{ q: string, state: string, signal: string, grade: string, colour: Measure, sort: string, all: boolean,
 *   years: boolean, run: number }} Choices `state`, `signal`, `grade`: values separated by commas; `run`: index of the
 *   run, or -1 without runs
 */

/** @type {readonly (readonly [Measure, string])[]} */
const MEASURES = [
  ['forecast', 'Forecast'],
  ['grade', 'Risk grade'],
  ['signal', 'Signal'],
  ['last', 'Last year'],
];

export const DEFAULT_SORT = '-forecast';

/** @type {readonly (readonly [string, string])[]} */
const SORTS = [
  ['-forecast', 'Highest forecast'],
  ['forecast', 'Lowest forecast'],
  ['-last', 'Highest last year'],
  ['-change', 'Largest increase'],
  ['change', 'Largest decrease'],
  ['name', 'Name'],
];

/** @param {Choices} chosen @param {(sort: string) => void} onsort */
export const sortField = ({ sort }, onsort) => {
  const [label, select] = labelledSelect('sort', 'Sort by', [...SORTS, ['', 'Other']], sort, onsort);
  const field = /** @type {HTMLSelectElement} */ (select);
  const show = (/** @type {string} */ chosen) => {
    const known = SORTS.some(([each]) => each === chosen);
    field.value = known ? chosen : '';
    const other = [...field.options].at(-1);
    if (other) other.hidden = known;
  };
  show(sort);
  return { element: h('div', label, field), show };
};

/** @param {URLSearchParams} query @param {readonly Run[]} runs @returns {Choices} */
export const choicesOf = (query, runs) => {
  const run = runs.findIndex(({ id }) => String(id) === query.get('run'));
  return {
    q: query.get('q') ?? '',
    state: query.get('state') ?? '',
    signal: query.get('signal') ?? '',
    grade: query.get('grade') ?? '',
    colour: MEASURES.find(([name]) => name === query.get('colour'))?.[0] ?? 'forecast',
    sort: query.get('sort') ?? DEFAULT_SORT,
    all: query.get('rows') === 'all',
    years: query.get('maps') === 'years',
    run: run >= 0 ? run : runs.length - 1,
  };
};

/** @param {Row} row @param {Choices} chosen */
export const matches = ({ name, signal, grade }, chosen) =>
  (chosen.state === '' || statesOf(name).some((code) => listIn(chosen.state).includes(code))) &&
  (chosen.signal === '' || listIn(chosen.signal).includes(signal ?? '')) &&
  (chosen.grade === '' || listIn(chosen.grade).includes(grade ?? ''));

/**
 * @param {string} name @param {string} label @param {readonly (readonly [string, string])[]} options
 * @param {string} value @param {(value: string) => void} onchange
 */
const filter = (name, label, options, value, onchange) => {
  // An address can contain several values. The field then shows them as one option.
  const several = value.includes(',') ? [/** @type {const} */ ([value, value.replaceAll(',', ', ')])] : [];
  return h('div', ...labelledSelect(`by-${name}`, label, [['', 'All'], ...several, ...options], value, onchange));
};

/** @param {readonly string[]} names @returns {(readonly [string, string])[]} */
const same = (names) => names.map((name) => [name, name]);

/**
 * @param {readonly { name: string }[]} markets @param {Choices} chosen
 * @param {(change: Partial<Choices>) => void} choose
 */
export const filterFields = (markets, chosen, choose) => {
  const codes = [...new Set(markets.flatMap(({ name }) => statesOf(name)))].sort();
  const states = codes.map((code) => /** @type {const} */ ([code, STATES.get(code) ?? code]));
  const signals = same(['expand', 'hold', 'contract']);
  return [
    filter('state', 'State', states, chosen.state, (state) => choose({ state })),
    filter('signal', 'Signal', signals, chosen.signal, (signal) => choose({ signal })),
    filter('grade', 'Risk grade', same([...'ABCDF']), chosen.grade, (grade) => choose({ grade })),
  ];
};

/** @param {Choices} chosen @param {(change: Partial<Choices>) => void} choose */
export const measureChoice = ({ colour }, choose) =>
  choice({
    legend: 'Colour by',
    name: 'colour',
    choices: MEASURES,
    value: colour,
    onchange: (one) => choose({ colour: one }),
  });

/** @param {number} shown @param {number} found @param {number} all @param {string} q */
export const countOf = (shown, found, all, q) => {
  if (shown > 0) return [shown === all ? counted(all, 'market') : `${shown} of ${all} markets`];
  if (found === 0 && q !== '')
    return [`No market matches “${q}”. `, h('a', { href: addressOf(['markets']) }, 'Show all'), '.'];
  const reason =
    q === ''
      ? 'No market matches all filters. Remove some filters, or '
      : `The search finds ${found}, but the other filters exclude them. Remove some filters, or `;
  const href = addressOf(['markets'], q === '' ? undefined : new URLSearchParams({ q }));
  return [reason, h('a', { href }, 'clear the filters'), '.'];
};

/** @param {readonly Run[]} runs @param {Choices} chosen @param {(run: number) => void} onrun */
export const runSlider = (runs, chosen, onrun) => {
  // Screen readers already announce the same text as the value of the slider.
  const output = h('output', { for: 'run', 'aria-live': 'off' });
  const slider = h('input', {
    id: 'run',
    type: 'range',
    min: 0,
    max: Math.max(0, runs.length - 1),
    value: chosen.run,
    disabled: runs.length < 2,
  });
  slider.addEventListener('input', () => onrun(Number(slider.value)));
  return {
    element: h('div', { class: 'time' }, h('label', { for: 'run' }, 'Model run'), slider, output),
    set: (/** @type {number} */ run) => {
      slider.value = String(run);
    },
    show: () => {
      const run = runs[chosen.run];
      if (!run) return output.replaceChildren();
      const until = lastQuarterOf(run);
      const isPast = chosen.colour === 'last';
      const text = isPast
        ? `Change from ${quarter(addMonths(until, -12))} to ${quarter(until)}`
        : `Data to ${quarter(until)}, forecast for ${quarter(run.target)}`;
      slider.setAttribute('aria-valuetext', text);
      output.replaceChildren(text, ...(isPast ? [] : markOf(run.basis)));
    },
  };
};
