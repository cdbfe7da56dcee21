import { badge } from '../../../../../core/pages/data-views/badge.js';
import { bar } from '../../../../../core/pages/data-views/bars.js';
import { dataTools } from '../../../../../core/pages/data-views/figure.js';
import { column, dataTable, numbers } from '../../../../../core/pages/data-views/table.js';
import { getJson } from '../../../../../core/pages/shared/api.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { counted, day, exact, number, points, quarter, share } from '../../../../../core/pages/shared/format.js';
import { basisNote, basisText, methodologyLink } from '../basis.js';
import { HPI, listOf, seriesOf } from '../catalog.js';
import { limitsOf } from '../grades.js';
import { keyFigures } from '../key-figures.js';
import { STATES } from '../search.js';
import { breakdownTarget, declinesCalled, errorColumns, markNote, periodsText, size } from './scores.js';
import { yearFigures } from './years.js';

/** @import { Column } from '../../../../../core/pages/data-views/table.js' */
/** @import { Backtest, BacktestGroup as Group, ForecastRun } from '../../../client/api-types.js' */

const TOOLS = [{ label: 'backtest', target: '/forecast-backtest' }];

/** @type {Column<Group>} */
const FORECASTS = numbers('Forecasts', ({ n }) => n, exact);

/** The period before 2014 includes the housing crash, so it is shown separately. */
const [BEFORE, SINCE] = ['&until=2013-12-31', '&since=2014-01-01'];

/** @param {number | null | undefined} one */
const shareText = (one) => (typeof one === 'number' ? share(one) : '–');

/** @param {string} period @param {readonly Group[]} grades @param {number} most @returns {Column<Group>[]} */
const periodColumns = (period, grades, most) => {
  if (grades.length === 0) return [];
  const of = (/** @type {Group} */ { group }) => grades.find((row) => row.group === group);
  return [
    {
      ...numbers(`Declines ${period}`, (row) => of(row)?.decline_share ?? null, shareText),
      cell: (row) => [
        shareText(of(row)?.decline_share),
        h('small', { class: 'muted' }, `predicted: ${shareText(of(row)?.predicted_decline_share)}`),
      ],
    },
    {
      label: `${period[0]?.toUpperCase()}${period.slice(1)}`,
      cell: (row) =>
        bar(of(row)?.decline_share ?? 0, { most, color: 'fall-3', mark: of(row)?.predicted_decline_share ?? null }),
      name: 'wide',
    },
  ];
};

/**
 * @param {readonly Group[]} grades
 * @param {readonly Group[]} before @param {readonly Group[]} since
 * @param {import('../grades.js').Limits | null | undefined} limits
 */
const gradeTable = (grades, before, since, limits) => {
  const shares = [...before, ...since].flatMap((row) => [row.decline_share, row.predicted_decline_share ?? 0]);
  const most = Math.max(...shares, 0.01);
  return [
    h('h2', 'How reliable are the grades?'),
    h(
      'p',
      { class: 'muted' },
      'Each grade is a range of the model’s probability that prices fall. ',
      methodologyLink('How grades are computed', '#probabilities-and-grades'),
    ),
    h(
      'p',
      { class: 'muted' },
      'The table compares the share of forecasts that were followed by a decline with the share that the model predicted. ',
      h('span', { class: 'wide' }, 'Bars show the first share and marks the second. '),
      periodsText(before, since),
    ),
    dataTable({
      caption: 'Declines by risk grade.',
      rows: grades,
      columns: [
        {
          label: 'Grade',
          cell: ({ group }) => [badge(group), limits && h('small', { class: 'muted' }, limitsOf(limits, group))],
          name: 'named',
        },
        ...periodColumns('from 2014', since, most),
        ...periodColumns('to 2013', before, most),
        FORECASTS,
      ],
    }).element,
  ];
};

/** @param {readonly Group[]} states */
const stateTable = (states) => [
  h('h2', 'Best and worst states'),
  h(
    'p',
    { class: 'muted' },
    'Each error is compared with the best benchmark in the state. ',
    markNote(),
    'A market in several states counts in each.',
  ),
  dataTable({
    caption: 'Mean absolute error by state.',
    rows: states,
    sort: '-error',
    whole: true,
    columns: [column('State', ({ group }) => STATES.get(group) ?? group), ...errorColumns(states), FORECASTS],
  }).element,
];

/** @param {Backtest} backtest @param {readonly Group[]} years @returns {import('../key-figures.js').KeyFigure[]} */
const comparisonFigures = ({ base_rate_up }, years) => {
  if (base_rate_up === undefined) return [];
  const { called, falseAlarms } = declinesCalled(years);
  return [
    ['Always forecasting a rise', share(base_rate_up)],
    ['Declines called', called, `${falseAlarms} false alarms`],
  ];
};

/** A dataset without `n_reconstructed` contains only reconstructed forecasts. @param {Backtest} backtest */
const reconstructedIn = ({ n, n_reconstructed = n }) => n_reconstructed;

/** @type {Readonly<Record<string, string>>} */
const BENCHMARKS = {
  persistence: 'the previous year’s change',
  ar1_nation: 'AR(1) with the nation',
  shrunk_mean: 'the shrunk mean',
};

/** @param {Backtest} backtest */
const bestOf = ({ benchmark, benchmarks, skill_mae }) => benchmarks?.[0] ?? { ...benchmark, skill_mae };

/** @param {Backtest} backtest */
const findingOf = (backtest) => {
  const { skill_mae: skill } = bestOf(backtest);
  const difference = number(Math.abs(100 * skill), 0);
  const compared =
    difference === '0'
      ? 'as much as the best simple rule'
      : `${difference}% ${skill < 0 ? 'more' : 'less'} than the best simple rule`;
  return `Forecasts were off by ${number(backtest.mae_pp, 1)} percentage points on average, ${compared}`;
};

/** @param {Backtest} backtest @param {readonly Group[]} years */
const summary = (backtest, years) => {
  const best = bestOf(backtest);
  const name = BENCHMARKS[best.name] ?? best.name;
  return [
    h('p', ...basisNote(reconstructedIn(backtest), backtest.n)),
    keyFigures([
      ['Mean absolute error', size(backtest.mae_pp), `${size(best.mae_pp)} for the best benchmark, ${name}`],
      ['Inside the 80% band', share(backtest.coverage_80), '80% expected'],
      ['Right direction', share(backtest.direction_hit_rate)],
      ...comparisonFigures(backtest, years),
    ]),
    dataTools({ sources: TOOLS }),
  ];
};

/** @param {Backtest} backtest */
const furtherScores = (backtest) => {
  const { benchmark } = backtest;
  return h(
    'details',
    h('summary', 'Further scores'),
    keyFigures([
      [`Error of ${benchmark.name}`, size(benchmark.mae_pp), 'repeats the last 12-month change'],
      ['Skill', share(bestOf(backtest).skill_mae), 'share of the best benchmark’s error avoided'],
      ['Bias', points(backtest.bias_pp), 'outcome minus forecast'],
      ['Root mean squared error', size(backtest.rmse_pp), 'weights large errors more'],
      ['Interval score', size(backtest.interval_score_80), 'width of the band, plus a penalty for each miss'],
    ]),
  );
};

/** @param {Backtest} backtest */
const aboutBacktest = (backtest) => {
  const { n, n_metros, n_runs, model_version, horizon_months, window_start, window_end } = backtest;
  return [
    `${counted(n, 'forecast')} for ${counted(n_metros, 'market')} by ${counted(n_runs, 'run')} of ${model_version}, ${horizon_months} months ahead`,
    `targets from ${quarter(window_start)} to ${quarter(window_end)}`,
    `outcomes published by ${day(backtest.realized_vintage)}`,
    `newest run of ${day(backtest.as_of)}`,
  ];
};

const emptyView = () => {
  const reason = 'A backtest needs 12 months of completed runs, and outcomes to compare them with.';
  return {
    title: 'There is no backtest yet',
    name: 'Backtest',
    series: [HPI],
    content: [h('p', { class: 'notice' }, reason), dataTools({ sources: TOOLS })],
  };
};

/** @type {import('../../../../../core/pages/data-views/router.js').Route} */
export const backtestView = async (_parameters, signal) => {
  const data = /** @type {Backtest | null} */ ((await getJson('/forecast-backtest', { signal })).data);
  if (data === null) return emptyView();
  /** @type {(by: string, span?: string) => Promise<Group[]>} */
  const groupsBy = (by, span = '') => listOf(`${breakdownTarget(by)}${span}`);
  const [runs, years, grades, before, since, states, index] = await Promise.all([
    /** @type {Promise<ForecastRun[]>} */ (listOf('/forecast-runs')),
    groupsBy('year'),
    groupsBy('grade'),
    groupsBy('grade', BEFORE),
    groupsBy('grade', SINCE),
    groupsBy('state'),
    seriesOf(HPI),
  ]);
  const basis = basisText(reconstructedIn(data), data.n);
  const publishers = [index?.source, `forecasts by ${data.model_version}`];
  return {
    title: findingOf(data),
    name: 'Backtest',
    question: 'How accurate were past forecasts?',
    about: aboutBacktest(data),
    series: [HPI],
    content: [
      ...summary(data, years),
      ...(years.length > 0 ? yearFigures(years, signal, { basis, publishers }) : []),
      ...(grades.length > 0 ? gradeTable(grades, before, since, runs.find(({ rules }) => rules)?.rules) : []),
      ...(states.length > 0 ? stateTable(states) : []),
      furtherScores(data),
    ],
  };
};
