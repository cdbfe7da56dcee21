/** How good the forecasts were, over all markets and runs whose outcome is published. */

import { badge } from '../../../pages/data-views/badge.js';
import { bar } from '../../../pages/data-views/bars.js';
import { chart } from '../../../pages/data-views/chart.js';
import { chartFigure, dataTools, linesTable } from '../../../pages/data-views/figure.js';
import { column, dataTable, numbers } from '../../../pages/data-views/table.js';
import { getJson } from '../../../pages/shared/api.js';
import { h } from '../../../pages/shared/dom.js';
import { day, exact, number, points, quarter, share } from '../../../pages/shared/format.js';
import { HPI } from './catalog.js';
import { keyFigures } from './market.js';
import { STATES } from './search.js';

/** @typedef {import('../../client/api-types.js').BacktestGroup} Group */

const TOOLS = [{ label: 'backtest', target: '/forecast-backtest' }];

/** @param {number} value */
const size = (value) => `${number(value)} pp`;

/**
 * Figures that put the hit rate into context. A dataset need not have them.
 * @param {{ base_rate_up?: number, declines?: number, declines_called?: number }} data
 * @returns {[string, string][]}
 */
const beside = ({ base_rate_up, declines, declines_called }) =>
  base_rate_up === undefined || declines === undefined || declines_called === undefined
    ? []
    : [
        ['Right by saying “up” each time', share(base_rate_up)],
        ['Declines called', `${number(declines_called, 0)} of ${number(declines, 0)}`],
      ];

/** @param {string} by */
const breakdown = (by) => `/forecast-backtest/breakdown?by=${by}`;

/** @param {readonly Group[]} years oldest first @param {AbortSignal} signal */
const yearFigures = (years, signal) => {
  const dates = years.map(({ group }) => `${group}-01-01`);
  const worst = years.toSorted((a, b) => b.mae_pp - a.mae_pp)[0];
  const year = (/** @type {string} */ date) => date.slice(0, 4);
  const sources = [{ label: 'years', target: breakdown('year'), file: 'backtest-years' }];
  const picture = (
    /** @type {string} */ title,
    /** @type {import('../../../pages/data-views/drawing.js').ChartOptions} */ options,
  ) => ({
    title,
    file: 'backtest',
    options: () => options,
    credits: () => [location.href],
  });
  /** @type {import('../../../pages/data-views/drawing.js').ChartOptions} */
  const errors = {
    label: 'Mean absolute error of the forecasts by year, beside persistence.',
    unit: 'Percentage points, by the year of the target',
    dates,
    lines: [
      { label: 'Model', short: 'Model', values: years.map(({ mae_pp }) => mae_pp), color: 'line-1' },
      {
        label: 'Persistence',
        short: 'Persistence',
        values: years.map((row) => row.benchmark_mae_pp),
        color: 'line-2',
        dashed: true,
      },
    ],
    dateText: year,
    valueText: size,
  };
  /** @type {import('../../../pages/data-views/drawing.js').ChartOptions} */
  const rates = {
    label: 'Shares of outcomes inside the 80% band and of right directions, by year.',
    unit: 'Percent of forecasts, by the year of the target',
    dates,
    lines: [
      {
        label: 'Inside the 80% band',
        short: 'In band',
        values: years.map((row) => 100 * row.coverage_80),
        color: 'line-1',
      },
      { label: 'What the band promises', short: '80%', values: years.map(() => 80), color: 'muted', dashed: true },
      {
        label: 'Right direction',
        short: 'Direction',
        values: years.map((row) => 100 * row.direction_hit_rate),
        color: 'line-3',
      },
      {
        label: 'Saying “up” each time',
        short: 'Always up',
        values: years.map((row) => 100 * row.always_up_hit_rate),
        color: 'line-2',
        dashed: true,
      },
    ],
    dateText: year,
    valueText: (value) => `${number(value, 1)}%`,
  };
  return [
    chartFigure({
      title: 'Error by year',
      note:
        worst &&
        `The worst year was ${worst.group}: off by ${size(worst.mae_pp)} on average, persistence by ${size(worst.benchmark_mae_pp)}.`,
      chart: chart(errors, signal),
      table: linesTable(errors, 'Year'),
      picture: picture('Error of the forecasts by year', errors),
      sources,
    }),
    chartFigure({
      title: 'Coverage and direction by year',
      figure: 'coverage',
      note: 'A band that holds what it promises has four of five outcomes inside.',
      chart: chart(rates, signal),
      table: linesTable(rates, 'Year'),
      picture: picture('Coverage and direction of the forecasts by year', rates),
      sources,
    }),
    h('h2', {}, 'Years, the worst first'),
    dataTable({
      caption: 'Mean absolute error; the mark is that of persistence.',
      rows: years,
      sort: '-error',
      columns: [
        column('Year', ({ group }) => group),
        ...errorColumns(years),
        numbers('Bias', (row) => row.bias_pp, points),
        numbers('In band', (row) => row.coverage_80, share),
        {
          ...numbers('Declines called', (row) => row.declines, String),
          cell: (row) => `${row.declines_called} of ${row.declines}`,
        },
      ],
    }).element,
  ];
};

/** The error of each group, alone and as a bar with that of persistence. @param {readonly Group[]} groups */
const errorColumns = (groups) => {
  const most = Math.max(...groups.map(({ mae_pp, benchmark_mae_pp }) => Math.max(mae_pp, benchmark_mae_pp)));
  return /** @type {import('../../../pages/data-views/table.js').Column<Group>[]} */ ([
    numbers('Error', (row) => row.mae_pp, size),
    {
      label: 'Beside persistence',
      cell: (row) => bar(row.mae_pp, { most, color: 'line-1', mark: row.benchmark_mae_pp }),
    },
  ]);
};

/** @type {import('../../../pages/data-views/table.js').Column<Group>} */
const FORECASTS = numbers('Forecasts', ({ n }) => n, exact);

/** @param {readonly Group[]} grades */
const gradeTable = (grades) => {
  const most = Math.max(...grades.map((row) => Math.max(row.decline_share, row.predicted_decline_share ?? 0)), 0.01);
  return [
    h('h2', {}, 'Do the grades hold?'),
    h(
      'p',
      { class: 'muted' },
      'The share of markets that declined, by grade; the mark is what the grades’ probabilities said.',
    ),
    dataTable({
      caption: 'Declines by risk grade.',
      rows: grades,
      columns: [
        { label: 'Grade', cell: ({ group }) => badge(group) },
        numbers('Declined', (row) => row.decline_share, share),
        {
          label: 'Beside the prediction',
          cell: (row) => bar(row.decline_share, { most, color: 'fall-2', mark: row.predicted_decline_share }),
        },
        numbers(
          'Predicted',
          (row) => row.predicted_decline_share,
          (one) => (one === null ? '–' : share(one)),
        ),
        FORECASTS,
      ],
    }).element,
  ];
};

/** @param {readonly Group[]} states */
const stateTable = (states) => [
  h('h2', {}, 'Best and worst states'),
  dataTable({
    caption: 'Mean absolute error by the first state of a market’s name; the mark is that of persistence.',
    rows: states,
    sort: '-error',
    columns: [column('State', ({ group }) => STATES.get(group) ?? group), ...errorColumns(states), FORECASTS],
  }).element,
];

/** @type {import('../../../pages/data-views/router.js').Route} */
export const backtestView = async (_parameters, signal) => {
  const { data } = await getJson('/forecast-backtest', { signal });
  if (data === null) {
    const reason = 'There is none yet: it takes 12 months of completed runs, and outcomes to compare them with.';
    return {
      title: 'Backtest',
      series: [HPI],
      content: [h('p', { class: 'notice' }, reason), dataTools({ sources: TOOLS })],
    };
  }
  const [years, grades, states] = await Promise.all(
    ['year', 'grade', 'state'].map(
      async (by) => /** @type {Group[]} */ ((await getJson(breakdown(by), { signal })).data),
    ),
  );
  return {
    title: 'Backtest',
    series: [HPI],
    content: [
      h(
        'p',
        {},
        `${number(data.n, 0)} forecasts for ${number(data.n_metros, 0)} markets by ${number(data.n_runs, 0)} runs of ${data.model_version}, `,
        `${data.horizon_months} months ahead, with targets from ${quarter(data.window_start)} to ${quarter(data.window_end)}.`,
      ),
      keyFigures([
        ['Mean absolute error', size(data.mae_pp), 'how far off a forecast was on average'],
        [`Error of ${data.benchmark.name}`, size(data.benchmark.mae_pp), 'of repeating the last change'],
        ['Skill', share(data.skill_mae), 'share of that error saved'],
        ['Inside the 80% band', share(data.coverage_80), '80% would be as promised'],
        ['Right direction', share(data.direction_hit_rate)],
        ...beside(data),
        ['Bias', points(data.bias_pp), 'came true less forecast'],
        ['Root mean squared error', size(data.rmse_pp), 'large errors count more'],
        ['Interval score', size(data.interval_score_80), 'width of the band, and a penalty for each miss'],
      ]),
      h(
        'p',
        { class: 'muted' },
        `The benchmark, ${data.benchmark.name}, says that the last 12-month change repeats itself. Outcomes are those published by ${day(data.realized_vintage)}; computed ${day(data.as_of)}.`,
      ),
      dataTools({ sources: TOOLS }),
      ...(years && years.length > 0 ? yearFigures(years, signal) : []),
      ...(grades && grades.length > 0 ? gradeTable(grades) : []),
      ...(states && states.length > 0 ? stateTable(states) : []),
    ],
  };
};
