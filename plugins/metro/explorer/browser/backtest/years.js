import { chart } from '../../../../../core/pages/data-views/chart.js';
import { chartFigure, linesTable } from '../../../../../core/pages/data-views/figure.js';
import { column, dataTable, numbers } from '../../../../../core/pages/data-views/table.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { number, points, share } from '../../../../../core/pages/shared/format.js';
import { bestError, breakdownTarget, declinesCalled, errorColumns, markNote, size } from './scores.js';

/** @import { ChartOptions } from '../../../../../core/pages/data-views/drawing.js' */
/** @import { BacktestGroup as Group } from '../../../client/api-types.js' */

/** @param {readonly Group[]} years */
const datesOf = (years) => years.map(({ group }) => `${group}-01-01`);

/** @param {string} date */
const yearText = (date) => date.slice(0, 4);

/** @param {readonly Group[]} years @returns {ChartOptions} */
const errorOptions = (years) => ({
  label: 'Mean absolute error of the forecasts and of the best benchmark, by year.',
  unit: 'Percentage points, by the year of the target',
  dates: datesOf(years),
  zero: true,
  lines: [
    { label: 'Model', short: 'Model', values: years.map(({ mae_pp }) => mae_pp), color: 'line-1' },
    {
      ...{ label: 'Best benchmark', short: 'Benchmark', color: 'line-2', dashed: true },
      values: years.map(bestError),
    },
  ],
  dateText: yearText,
  valueText: size,
});

/** @param {readonly Group[]} years @returns {ChartOptions} */
const rateOptions = (years) => ({
  label: 'Shares of outcomes inside the 80% band and of right directions, by year.',
  unit: 'Percent of forecasts, by the year of the target',
  dates: datesOf(years),
  lines: [
    {
      ...{ label: 'Inside the 80% band', short: 'In band', color: 'line-1' },
      values: years.map((row) => 100 * row.coverage_80),
    },
    { label: 'Expected share (80%)', short: '80%', values: years.map(() => 80), color: 'muted', dashed: true },
    {
      ...{ label: 'Right direction', short: 'Direction', color: 'line-3' },
      values: years.map((row) => 100 * row.direction_hit_rate),
    },
    {
      ...{ label: 'Always forecasting a rise', short: 'Always up', color: 'line-2', dashed: true },
      values: years.map((row) => 100 * row.always_up_hit_rate),
    },
  ],
  dateText: yearText,
  valueText: (value) => `${number(value, 1)}%`,
});

/** @param {readonly Group[]} years */
const yearTable = (years) =>
  dataTable({
    caption: 'Mean absolute error by year.',
    rows: years,
    sort: '-error',
    columns: [
      column('Year', ({ group }) => group),
      ...errorColumns(years),
      numbers('Bias', (row) => row.bias_pp, points, { name: 'wide' }),
      numbers('In band', (row) => row.coverage_80, share),
      {
        ...numbers('Declines called', (row) => row.declines, String),
        cell: (row) => {
          const { called, falseAlarms } = declinesCalled([row]);
          return [called, h('small', { class: 'muted narrow' }, `false alarms: ${falseAlarms}`)];
        },
      },
      numbers(
        'False alarms',
        (row) => row.decline_calls - row.declines_called,
        (count) => number(count, 0),
        { name: 'wide' },
      ),
    ],
  }).element;

/**
 * @param {readonly Group[]} years @param {AbortSignal} signal
 * @param {{ basis: string, publishers: readonly (string | undefined)[] }} origin
 */
export const yearFigures = (years, signal, { basis, publishers }) => {
  const worst = years.toSorted((a, b) => b.mae_pp - a.mae_pp)[0];
  const common = (/** @type {string} */ title, /** @type {ChartOptions} */ options) => ({
    chart: chart(options, signal),
    table: linesTable(options, 'Year'),
    picture: {
      title,
      file: 'backtest',
      options: () => options,
      credits: () => [...(basis ? [basis] : []), location.href],
    },
    publishers,
    sources: [{ label: 'years', target: breakdownTarget('year'), file: 'backtest-years' }],
  });
  return [
    chartFigure({
      title: 'Error by year',
      note:
        worst &&
        `The worst year was ${worst.group}: off by ${size(worst.mae_pp)} on average, the best benchmark by ${size(bestError(worst))}.`,
      ...common('Error of the forecasts by year', errorOptions(years)),
    }),
    chartFigure({
      title: 'Coverage and direction by year',
      figure: 'coverage',
      note: 'A correct 80% band contains four out of five outcomes.',
      ...common('Coverage and direction of the forecasts by year', rateOptions(years)),
    }),
    h('h2', 'Years, worst first'),
    h('p', { class: 'muted' }, 'Each error is compared with the best benchmark in the year. ', markNote()),
    yearTable(years),
  ];
};
