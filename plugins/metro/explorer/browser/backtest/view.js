/** The backtest view, which shows the quality of past forecasts for all markets and runs with published outcomes. */
import { badge } from '../../../../pages/data-views/badge.js';
import { bar } from '../../../../pages/data-views/bars.js';
import { dataTools } from '../../../../pages/data-views/figure.js';
import { column, dataTable, numbers } from '../../../../pages/data-views/table.js';
import { getJson } from '../../../../pages/shared/api.js';
import { h } from '../../../../pages/shared/dom.js';
import { day, exact, number, points, quarter, share } from '../../../../pages/shared/format.js';
import { basisNote, basisText } from '../basis.js';
import { HPI, listOf } from '../catalog.js';
import { keyFigures } from '../key-figures.js';
import { STATES } from '../search.js';
import { breakdownTarget, errorColumns, size } from './groups.js';
import { declinesCalled, periodsText } from './scores.js';
import { yearFigures } from './years.js';

/**
 * @typedef {import('./groups.js').Group} Group
 * @typedef {import('../../../client/api-types.js').Backtest} Backtest
 */

const TOOLS = [{ label: 'backtest', target: '/forecast-backtest' }];

/** @type {import('../../../../pages/data-views/table.js').Column<Group>} */
const FORECASTS = numbers('Forecasts', ({ n }) => n, exact);

/** Parameters for targets up to and after the end of the crash of 2007. */
const [BEFORE, SINCE] = ['&until=2013-12-31', '&since=2014-01-01'];

/**
 * The share of declines by grade in a period.
 * @param {string} label @param {readonly Group[]} grades
 */
const declinedColumn = (label, grades) =>
  numbers(
    label,
    (/** @type {Group} */ { group }) => grades.find((row) => row.group === group)?.decline_share ?? null,
    (one) => (one === null ? '–' : share(one)),
  );

/** @param {readonly Group[]} grades @param {readonly Group[]} before to 2013 @param {readonly Group[]} since from 2014 */
const gradeTable = (grades, before, since) => {
  const periods = before.length > 0 && since.length > 0;
  const most = Math.max(...grades.map((row) => Math.max(row.decline_share, row.predicted_decline_share ?? 0)), 0.01);
  return [
    h('h2', {}, 'Do the grades hold?'),
    h(
      'p',
      { class: 'muted' },
      'The share of forecasts that were followed by a decline, by grade. The mark is the share that the model predicted. ',
      periods ? periodsText(before, since) : '',
    ),
    dataTable({
      caption: 'Declines by risk grade.',
      rows: grades,
      columns: [
        { label: 'Grade', cell: ({ group }) => badge(group) },
        numbers('Declined', (row) => row.decline_share, share),
        {
          label: 'Compared with the prediction',
          cell: (row) => bar(row.decline_share, { most, color: 'fall-2', mark: row.predicted_decline_share }),
        },
        numbers(
          'Predicted',
          (row) => row.predicted_decline_share,
          (one) => (one === null ? '–' : share(one)),
        ),
        ...(periods ? [declinedColumn('Declined to 2013', before), declinedColumn('Declined from 2014', since)] : []),
        FORECASTS,
      ],
    }).element,
  ];
};

/** @param {readonly Group[]} states */
const stateTable = (states) => [
  h('h2', {}, 'Best and worst states'),
  dataTable({
    caption:
      'Mean absolute error by state. A market in several states counts in each. The mark is the error of the best benchmark of the state.',
    rows: states,
    sort: '-error',
    columns: [column('State', ({ group }) => STATES.get(group) ?? group), ...errorColumns(states), FORECASTS],
  }).element,
];

/**
 * Figures to compare the hit rate with. Some datasets lack the base rate.
 * @param {Backtest} backtest @param {readonly Group[]} years
 * @returns {import('../key-figures.js').KeyFigure[]}
 */
const comparisonFigures = ({ base_rate_up }, years) => {
  if (base_rate_up === undefined) return [];
  const { called, falseAlarms } = declinesCalled(years);
  return [
    ['Right if it always said “up”', share(base_rate_up)],
    ['Declines called', called, `${falseAlarms} false alarms`],
  ];
};

/** Datasets without these counts have no published run. @param {Backtest} backtest */
const reconstructedIn = ({ n, n_reconstructed = n }) => n_reconstructed;

/** @param {Backtest} backtest @param {readonly Group[]} years */
const summary = (backtest, years) => {
  const { benchmark, model_version, horizon_months } = backtest;
  const [best] = backtest.benchmarks ?? [];
  const [forecasts, markets, runs] = [backtest.n, backtest.n_metros, backtest.n_runs].map((count) => number(count, 0));
  const targets = `${quarter(backtest.window_start)} to ${quarter(backtest.window_end)}`;
  return [
    h(
      'p',
      {},
      `${forecasts} forecasts for ${markets} markets by ${runs} runs of ${model_version}, ${horizon_months} months ahead, with targets from ${targets}. `,
      ...basisNote(reconstructedIn(backtest), backtest.n),
    ),
    keyFigures([
      ['Mean absolute error', size(backtest.mae_pp), 'average distance from the outcome'],
      [`Error of ${benchmark.name}`, size(benchmark.mae_pp), 'repeats the last change'],
      ...(best
        ? /** @type {import('../key-figures.js').KeyFigure[]} */ ([
            [`Error of ${best.name.replaceAll('_', ' ')}`, size(best.mae_pp), 'the best of three benchmarks'],
            ['Skill', share(best.skill_mae), 'share of the best benchmark’s error avoided'],
          ])
        : []),
      ['Inside the 80% band', share(backtest.coverage_80), '80% expected'],
      ['Right direction', share(backtest.direction_hit_rate)],
      ...comparisonFigures(backtest, years),
      ['Bias', points(backtest.bias_pp), 'outcome minus forecast'],
      ['Root mean squared error', size(backtest.rmse_pp), 'weights large errors more'],
      ['Interval score', size(backtest.interval_score_80), 'width of the band, plus a penalty for each miss'],
    ]),
    h(
      'p',
      { class: 'muted' },
      `The benchmark, ${benchmark.name}, forecasts that the last 12-month change repeats. The outcomes were published by ${day(backtest.realized_vintage)}. The newest run is of ${day(backtest.as_of)}.`,
    ),
  ];
};

const emptyView = () => {
  const reason = 'There is no backtest yet: it needs 12 months of completed runs, and outcomes to compare them with.';
  return {
    title: 'Backtest',
    series: [HPI],
    content: [h('p', { class: 'notice' }, reason), dataTools({ sources: TOOLS })],
  };
};

/** @type {import('../../../../pages/data-views/router.js').Route} */
export const backtestView = async (_parameters, signal) => {
  const data = /** @type {Backtest | null} */ ((await getJson('/forecast-backtest', { signal })).data);
  if (data === null) return emptyView();
  /** @type {(by: string, span?: string) => Promise<Group[]>} */
  const groupsBy = (by, span = '') => listOf(`${breakdownTarget(by)}${span}`);
  const [years, grades, before, since, states] = await Promise.all([
    groupsBy('year'),
    groupsBy('grade'),
    groupsBy('grade', BEFORE),
    groupsBy('grade', SINCE),
    groupsBy('state'),
  ]);
  return {
    title: 'Backtest',
    series: [HPI],
    content: [
      ...summary(data, years),
      dataTools({ sources: TOOLS }),
      ...(years.length > 0 ? yearFigures(years, signal, basisText(reconstructedIn(data), data.n)) : []),
      ...(grades.length > 0 ? gradeTable(grades, before, since) : []),
      ...(states.length > 0 ? stateTable(states) : []),
    ],
  };
};
