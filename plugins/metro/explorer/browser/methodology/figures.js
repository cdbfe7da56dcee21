import { number, share } from '../../../../../core/pages/shared/format.js';
import { BENCHMARKS, breakdown, mean, NOTHING, sum, table } from './tables.js';
import { widerFigures } from './wider-figures.js';

/** @import { Get } from './tables.js' */

const PERIODS = /** @type {const} */ ([
  ['all', ''],
  ['up to 2013', '&until=2013-12-31'],
  ['from 2014', '&since=2014-01-01'],
]);

/** @param {Get} get @param {string} by */
const byPeriod = async (get, by) =>
  Promise.all(PERIODS.map(async ([name, span]) => /** @type {const} */ ([name, await breakdown(get, by, span)])));

/** @type {(value: number) => string} */
const percent = (value) => `${number(value)}%`;

/** @param {Get} get */
const newestRun = async (get) => (await get('/forecast-runs')).data[0];

/** @type {Readonly<Record<string, (get: Get) => Promise<string>>>} */
export const figures = {
  ...widerFigures,

  async summary(get) {
    const { data } = await get('/forecast-backtest');
    if (!data) return NOTHING;
    const [best] = data.benchmarks ?? [];
    const reconstructed = data.n_reconstructed ?? data.n;
    const forecasts =
      reconstructed === data.n
        ? 'reconstructed forecasts'
        : `forecasts, of which ${number(reconstructed, 0)} were reconstructed,`;
    const years = (await breakdown(get, 'year')).toSorted((a, b) => a.coverage_80 - b.coverage_80);
    const periods = await byPeriod(get, 'signal');
    const contract = periods.slice(1).flatMap(([name, rows]) => {
      const row = rows.find(({ group }) => group === 'contract');
      return row ? [`${share(row.decline_share)} of ${number(row.n, 0)} cases ${name}`] : [];
    });
    return [
      `- The mean absolute error of ${number(data.n, 0)} ${forecasts} is ${number(data.mae_pp)} percentage points.` +
        (best
          ? ` The best benchmark, ${BENCHMARKS[best.name]}, has an error of ${number(best.mae_pp)}, so the skill is ${share(best.skill_mae)}.`
          : ''),
      `- ${share(data.coverage_80)} of the outcomes were inside the 80% interval. In the worst year, ${years[0]?.group}, the share was ${share(years[0]?.coverage_80 ?? 0)}.`,
      contract.length === 0 ? '' : `- After a \`contract\` signal, prices declined in ${contract.join(' and ')}.`,
    ]
      .filter(Boolean)
      .join('\n');
  },

  async coefficients(get) {
    const run = await newestRun(get);
    return table(
      ['Regressor', `Coefficient in run ${run?.id}`],
      (run?.coefficients ?? []).map((/** @type {any} */ { name, value }) => [
        `\`${name}\``,
        String(Number(value.toPrecision(3))),
      ]),
      'The newest run has not published any coefficients.',
    );
  },

  async inputs(get) {
    const inputs = /** @type {{ name: string, mean_contribution_pp: number }[]} */ (
      (await newestRun(get))?.inputs ?? []
    );
    const total = inputs.reduce((all, { mean_contribution_pp }) => all + mean_contribution_pp, 0);
    return table(
      ['Input', 'Mean contribution (pp)', 'Share of the mean point'],
      inputs.map(({ name, mean_contribution_pp: value }) => [`\`${name}\``, number(value), share(value / total)]),
      'The newest run has not published any contributions.',
    );
  },

  async rules(get) {
    const rules = (await newestRun(get))?.rules;
    if (!rules) return 'The newest run has not published any thresholds.';
    const [a, b, c, d] = rules.grades.map((/** @type {number} */ limit) => `${Number((100 * limit).toFixed(4))}%`);
    return table(
      ['', ''],
      [
        ['`expand`', `\`point\` of ${rules.expand_point}% or more, and \`lower_80\` above ${rules.expand_lower}%`],
        ['`contract`', `\`point\` below ${rules.contract_point}%`],
        ['`hold`', 'everything else'],
        ['Margin', `${rules.margin} pp`],
        ['Grade A', `probability of a decline below ${a}`],
        ['Grade B', `from ${a} to below ${b}`],
        ['Grade C', `from ${b} to below ${c}`],
        ['Grade D', `from ${c} to below ${d}`],
        ['Grade F', `${d} or more`],
      ],
    );
  },

  async grades(get) {
    const periods = await byPeriod(get, 'grade');
    const all = periods[0]?.[1] ?? [];
    return table(
      ['Grade', ...periods.flatMap(([name]) => [`Forecasts ${name}`, 'Predicted', 'Declined', 'Brier'])],
      all.map(({ group }) => [
        group,
        ...periods.flatMap(([, rows]) => {
          const row = rows.find((each) => each.group === group);
          return row
            ? [
                number(row.n, 0),
                share(row.predicted_decline_share),
                share(row.decline_share),
                number(row.brier_score, 3),
              ]
            : ['0', '', '', ''];
        }),
      ]),
    );
  },

  async probabilities(get) {
    const rows = (await byPeriod(get, 'year')).flatMap(([name, years]) => {
      if (years.length === 0) return [];
      const declined = sum(years, 'declines') / sum(years, 'n');
      const [brier, loss] = [mean(years, 'brier_score'), mean(years, 'log_loss')];
      return [[name, share(declined), number(brier, 4), number(declined * (1 - declined), 4), number(loss, 3)]];
    });
    return table(['Targets', 'Declined', 'Brier score', 'Brier score of a constant', 'Log loss'], rows);
  },

  async reliability(get) {
    return table(
      ['Probability of a decline', 'Forecasts', 'Predicted', 'Declined'],
      (await breakdown(get, 'probability')).map((row) => [
        row.group,
        number(row.n, 0),
        share(row.predicted_decline_share),
        share(row.decline_share),
      ]),
    );
  },

  async signals(get) {
    const rows = (await byPeriod(get, 'signal')).flatMap(([name, groups]) =>
      groups.map((row) => [
        `\`${row.group}\``,
        name,
        number(row.n, 0),
        percent(row.mean_point),
        percent(row.mean_realized),
        share(row.decline_share),
      ]),
    );
    return table(['Signal', 'Targets', 'Forecasts', 'Forecast (mean)', 'Outcome (mean)', 'Declined'], rows);
  },

  async churn(get) {
    const runs = /** @type {any[]} */ ((await get('/forecast-runs')).data).filter(
      ({ signal_change_share }) => typeof signal_change_share === 'number',
    );
    if (runs.length === 0) return 'The runs have not published any signal changes.';
    const shares = runs.map(({ signal_change_share }) => signal_change_share);
    const average = (/** @type {number[]} */ values) => values.reduce((all, value) => all + value, 0) / values.length;
    return (
      `On average, ${share(average(shares))} of the markets changed their signal from one run to the next over ` +
      `${runs.length} runs, and ${share(average(shares.slice(0, 8)))} over the last ${Math.min(8, runs.length)}. The largest ` +
      `share was ${share(Math.max(...shares))}.`
    );
  },

  async years(get) {
    const rows = (await breakdown(get, 'year')).toSorted((a, b) => b.mae_pp - a.mae_pp);
    return table(
      [
        ...['Year', 'Forecasts', 'Forecast (mean)', 'Outcome (mean)', 'Error (pp)', 'Persistence (pp)'],
        ...['AR(1) (pp)', 'Shrunk mean (pp)', 'In the 80% interval', 'Right direction', 'Always up'],
      ],
      rows.map((row) => [
        row.group,
        number(row.n, 0),
        percent(row.mean_point),
        percent(row.mean_realized),
        number(row.mae_pp),
        number(row.benchmark_mae_pp),
        number(row.ar1_nation_mae_pp),
        number(row.shrunk_mean_mae_pp),
        share(row.coverage_80),
        share(row.direction_hit_rate),
        share(row.always_up_hit_rate),
      ]),
    );
  },

  async period(get) {
    const rows = (await byPeriod(get, 'year')).flatMap(([name, years]) => {
      if (years.length === 0) return [];
      const error = mean(years, 'mae_pp');
      const benchmarks = ['benchmark_mae_pp', 'ar1_nation_mae_pp', 'shrunk_mean_mae_pp'].map((key) => mean(years, key));
      return [
        [
          ...[name, number(sum(years, 'n'), 0), number(error), ...benchmarks.map((value) => number(value))],
          share(1 - error / Math.min(...benchmarks)),
          number(mean(years, 'interval_score_80'), 1),
          ...['coverage_80', 'direction_hit_rate', 'always_up_hit_rate'].map((key) => share(mean(years, key))),
          ...['declines', 'decline_calls', 'declines_called'].map((key) => number(sum(years, key), 0)),
        ],
      ];
    });
    return table(
      [
        ...['Targets', 'Forecasts', 'Error (pp)', 'Persistence (pp)', 'AR(1) (pp)', 'Shrunk mean (pp)'],
        ...['Skill against the best', 'Interval score', 'In the 80% interval', 'Right direction', 'Always up'],
        ...['Declines', 'Forecast below 0', 'of these declined'],
      ],
      rows,
    );
  },

  async beaten(get) {
    const rows = (await breakdown(get, 'year')).map((row) => ({
      ...row,
      best: Math.min(row.benchmark_mae_pp, row.ar1_nation_mae_pp, row.shrunk_mean_mae_pp),
    }));
    if (rows.length === 0) return NOTHING;
    const lost = rows.filter(({ mae_pp, best }) => best < mae_pp).map(({ group }) => group);
    const calm = rows
      .filter(({ group }) => group >= '2014')
      .sort((a, b) => b.benchmark_mae_pp - a.benchmark_mae_pp)
      .slice(3);
    const without =
      calm.length === 0
        ? ''
        : " From 2014 on, without the three years in which persistence was least accurate, the model's error is " +
          `${number(mean(calm, 'mae_pp'))} points, and the error of the shrunk mean is ` +
          `${number(mean(calm, 'shrunk_mean_mae_pp'))} points.`;
    return `A benchmark was more accurate than the model in ${lost.length} of ${rows.length} years${lost.length === 0 ? '' : `: ${lost.join(', ')}`}.${without}`;
  },

  async record(get) {
    const runs = (await get('/forecast-runs')).data;
    return table(
      ['Basis', 'Runs', 'First', 'Last'],
      ['published', 'reconstructed'].flatMap((basis) => {
        const days = runs
          .filter((/** @type {any} */ run) => run.basis === basis)
          .map((/** @type {any} */ { run_at }) => run_at.slice(0, 10))
          .sort();
        return days.length === 0 ? [] : [[`\`${basis}\``, number(days.length, 0), days[0], days.at(-1)]];
      }),
      'The service has no runs.',
    );
  },
};
