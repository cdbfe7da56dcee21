import { keepInAddress } from '../../pages/data-views/address.js';
import { chart } from '../../pages/data-views/chart.js';
import { choice, select } from '../../pages/data-views/controls.js';
import { linesCsv } from '../../pages/data-views/csv.js';
import { chartFigure, linesTable } from '../../pages/data-views/figure.js';
import { latestOf } from '../../pages/data-views/latest.js';
import { h } from '../../pages/shared/dom.js';
import { exact, number } from '../../pages/shared/format.js';
import { words } from './cells.js';
import { chartChoices, figuresOf, MAX_LINES, periodText } from './row-figures.js';

/**
 * @typedef {import('./tables.js').Table} Table
 * @typedef {import('./tables.js').Column} Column
 * @typedef {import('./row-figures.js').Row} Row
 * @typedef {ReturnType<typeof chartChoices>} Offer the columns that the user can choose from
 * @typedef {ReturnType<typeof choicesOf>} Choices
 * @typedef {ReturnType<typeof figuresOf>} Figures
 * @typedef {{ form: string, time: string, value: string, by: string }} Query the user's choices, as kept in the address
 */

/** As the value, this option counts rows instead of showing a column. As the group, it means one line for all rows. */
const COUNT = 'rows';

/** @param {readonly Column[]} columns @param {string} name */
const named = (columns, name) => columns.find((column) => column.name === name)?.name;

/** Replaces missing and unknown choices with the defaults. @param {Offer} offer @param {Query} query */
const choicesOf = ({ times, numbers, groups, first }, { form, time, value, by }) => {
  const shown = form === 'line' || form === 'bars' ? form : first.form;
  return {
    form: shown,
    time: named(times, time) ?? first.time,
    value: value === COUNT ? null : (named(numbers, value) ?? first.value),
    // Bar charts cannot show groups.
    by: shown === 'bars' || by === COUNT ? null : (named(groups, by) ?? first.by),
  };
};

/** @param {readonly Column[]} columns @returns {(readonly [string, string])[]} */
const optionsFor = (columns) => columns.map(({ name, label }) => [name, label]);

/** @param {Offer} offer @param {Choices} chosen @param {(change: Partial<Query>) => void} choose */
const controlsOf = ({ times, numbers, groups }, { form, time, value, by }, choose) =>
  h(
    'div',
    { class: 'switches' },
    choice({
      legend: 'As',
      name: 'form',
      choices: [
        ['line', 'Line'],
        ['bars', 'Bars'],
      ],
      value: form,
      onchange: (each) => choose({ form: each }),
    }),
    select('value', 'Values', [...optionsFor(numbers), [COUNT, 'Number of rows']], value ?? COUNT, (each) =>
      choose({ value: each }),
    ),
    times.length > 1 ? select('time', 'Over', optionsFor(times), time, (each) => choose({ time: each })) : null,
    groups.length > 0 && form === 'line'
      ? select('by', 'A line for each', [[COUNT, 'None'], ...optionsFor(groups)], by ?? COUNT, (each) =>
          choose({ by: each }),
        )
      : null,
  );

/** @param {Choices} chosen @param {Figures} figures */
const textsOf = ({ form, value }, { period, means }) => {
  const column = value === null ? '' : words(value);
  const what = value === null ? 'Number of rows' : means ? `Mean of ${column.toLowerCase()}` : column;
  return { what, per: form === 'bars' || period !== 'day' ? ` by ${period}` : '' };
};

/**
 * @param {Choices} chosen
 * @param {Figures} figures
 * @returns {import('../../pages/data-views/drawing.js').ChartOptions}
 */
const optionsOf = (chosen, figures) => {
  const { dates, period, lines } = figures;
  const { what, per } = textsOf(chosen, figures);
  return {
    label: `${what}${per} of ${words(chosen.time).toLowerCase()}.`,
    unit: what,
    dates,
    lines: lines.map(({ label, values }, index) => ({
      label: label || what,
      ...(label && { short: label }),
      values,
      color: lines.length > 1 ? `line-${index + 1}` : 'accent',
      bars: chosen.form === 'bars',
    })),
    dateText: (date) => periodText(date, period),
    valueText: (one) => (Number.isInteger(one) ? exact(one) : number(one, 2)),
  };
};

/** @param {Figures} figures @param {string} source says which rows the chart shows; empty if it shows all of them */
const noteOf = ({ means, left, period }, source) =>
  [
    source,
    means && `Each value is the mean of all rows in one ${period}.`,
    left > 0 && `Showing the first ${MAX_LINES} of ${MAX_LINES + left} lines. Filter the rows to see others.`,
  ]
    .filter(Boolean)
    .join(' ');

/**
 * @param {Table} table @param {Choices} chosen @param {Figures} figures
 * @param {{ title: string, target: string, source: string, controls: HTMLElement, signal: AbortSignal }} parts
 */
const timeFigure = (table, chosen, figures, { title, target, source, controls, signal }) => {
  const options = optionsOf(chosen, figures);
  const { what, per } = textsOf(chosen, figures);
  const heading = `${title}: ${what.toLowerCase()}${per}`;
  return chartFigure({
    title: heading,
    note: noteOf(figures, source),
    chart: h('div', {}, controls, chart(options, signal)),
    picture: {
      title: heading,
      file: table.name,
      options: () => options,
      credits: () => [document.querySelector('.brand')?.textContent ?? '', location.href],
    },
    sources: [{ label: table.name, target, file: table.name }],
    shown: { file: `${table.name}-${chosen.value ?? COUNT}.csv`, text: () => linesCsv(options, chosen.time) },
    table: linesTable(options, words(chosen.time)),
  });
};

/**
 * Creates a chart of values over time, with controls to choose the columns. It is empty if no column contains times.
 * @param {Table} table @param {URLSearchParams} address @param {AbortSignal} signal
 * @param {{ title: string, target: () => string }} of `target`: returns the API path and query for the rows
 */
export const timeChart = (table, address, signal, { title, target }) => {
  const place = h('div');
  const next = latestOf(signal);
  /** @type {readonly Row[]} */
  let rows = [];
  let source = '';
  const { form = '', time = '', value = '', by = '' } = Object.fromEntries(address);
  const query = { form, time, value, by };
  const choose = (/** @type {Partial<Query>} */ change) => {
    Object.assign(query, change);
    keepInAddress(change);
    // `show` replaces the controls, so the focus moves to the new control with the same id.
    const focused = document.activeElement?.id;
    show();
    if (focused) document.getElementById(focused)?.focus();
  };
  const show = () => {
    const shown = next();
    const offer = chartChoices(table, rows);
    if (offer.times.length === 0) return place.replaceChildren();
    const chosen = choicesOf(offer, query);
    const controls = controlsOf(offer, chosen, choose);
    const parts = { title, target: target(), source, controls, signal: shown };
    place.replaceChildren(timeFigure(table, chosen, figuresOf(rows, chosen), parts));
  };
  return {
    element: place,
    /** @param {readonly Row[]} shown @param {string} note says which rows these are; empty if they are all rows */
    show: (shown, note) => {
      rows = shown;
      source = note;
      show();
    },
  };
};
