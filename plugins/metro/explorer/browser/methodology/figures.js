/** Figures of the methodology, from the current snapshot of the service. */
import { getJson } from '../../../../pages/shared/api.js';
import { number, share } from '../../../../pages/shared/format.js';
import { table } from '../../../../pages/shared/markdown.js';

/**
 * @param {string} by
 * @param {AbortSignal} [signal]
 * @param {string} [span] of targets
 */
const breakdown = async (by, signal, span = '') =>
  (await getJson(`/forecast-backtest/breakdown?by=${by}${span}`, { signal })).data;

/** Targets up to and after the end of the crash of 2007. */
const TO_2013 = '&until=2013-12-31';
const FROM_2014 = '&since=2014-01-01';

/** @type {(rows: readonly any[], key: string) => number} */
const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

/** @type {(rows: readonly any[], key: string) => number} the mean over all forecasts */
const mean = (rows, key) => rows.reduce((total, row) => total + row.n * row[key], 0) / sum(rows, 'n');

/** @type {(value: number) => string} */
const percent = (value) => `${number(value)}%`;

const NOTHING = 'No outcome of a past forecast has been published yet.';

/** @type {(heads: readonly string[], rows: readonly (readonly string[])[], nothing?: string) => HTMLElement | string} */
const tableOr = (heads, rows, nothing = NOTHING) => (rows.length === 0 ? nothing : table(heads, rows));

/** @param {AbortSignal} [signal] */
const newestRun = async (signal) => (await getJson('/forecast-runs', { signal })).data[0];

/** @type {Readonly<Record<string, (signal?: AbortSignal) => Promise<HTMLElement | string>>>} */
export const figures = {
  async coefficients(signal) {
    const run = await newestRun(signal);
    const rows = run?.coefficients ?? [];
    return tableOr(
      ['Regressor', `Coefficient in run ${run?.id} of ${run?.model_version}`],
      rows.map((/** @type {{ name: string, value: number }} */ { name, value }) => [
        `\`${name}\``,
        String(Number(value.toPrecision(3))),
      ]),
      'The newest run has published no coefficients.',
    );
  },

  async rules(signal) {
    const rules = (await newestRun(signal))?.rules;
    if (!rules) return 'The newest run has published no thresholds.';
    const [a, b, c, d] = rules.grades.map((/** @type {number} */ limit) => `${Number((100 * limit).toFixed(4))}%`);
    return table(
      ['', ''],
      [
        ['`expand`', `\`point\` of ${rules.expand_point}% or more, and \`lower_80\` above ${rules.expand_lower}%`],
        ['`contract`', `\`point\` below ${rules.contract_point}%`],
        ['`hold`', 'everything else'],
        ['Grade A', `probability of a decline below ${a}`],
        ['Grade B', `from ${a} to below ${b}`],
        ['Grade C', `from ${b} to below ${c}`],
        ['Grade D', `from ${c} to below ${d}`],
        ['Grade F', `${d} and more`],
      ],
    );
  },

  async grades(signal) {
    const [all, before, since] = await Promise.all(
      ['', TO_2013, FROM_2014].map((span) => breakdown('grade', signal, span)),
    );
    /** @type {(rows: readonly any[], grade: string) => string[]} */
    const cells = (rows, grade) => {
      const row = rows.find(({ group }) => group === grade);
      return row
        ? [
            number(row.n, 0),
            row.predicted_decline_share === null ? '' : share(row.predicted_decline_share),
            share(row.decline_share),
          ]
        : ['0', '', ''];
    };
    return tableOr(
      [
        ...['Grade', 'Forecasts', 'Predicted', 'Declined'],
        ...['To 2013: forecasts', 'Predicted', 'Declined'],
        ...['From 2014: forecasts', 'Predicted', 'Declined'],
      ],
      all.map((/** @type {any} */ { group }) => [
        group,
        ...cells(all, group),
        ...cells(before, group),
        ...cells(since, group),
      ]),
    );
  },

  async signals(signal) {
    const rows = await breakdown('signal', signal);
    return tableOr(
      ['Signal', 'Forecasts', 'Forecast (mean)', 'Outcome (mean)', 'Declined'],
      rows.map((/** @type {any} */ row) => [
        `\`${row.group}\``,
        number(row.n, 0),
        percent(row.mean_point),
        percent(row.mean_realized),
        share(row.decline_share),
      ]),
    );
  },

  async years(signal) {
    const rows = await breakdown('year', signal);
    rows.sort((/** @type {any} */ a, /** @type {any} */ b) => b.mae_pp - a.mae_pp);
    return tableOr(
      [
        ...['Year', 'Forecasts', 'Forecast (mean)', 'Outcome (mean)', 'Error (pp)', 'Persistence (pp)'],
        ...['In the 80% interval', 'Right direction', 'Always up'],
      ],
      rows.map((/** @type {any} */ row) => [
        row.group,
        number(row.n, 0),
        percent(row.mean_point),
        percent(row.mean_realized),
        number(row.mae_pp),
        number(row.benchmark_mae_pp),
        share(row.coverage_80),
        share(row.direction_hit_rate),
        share(row.always_up_hit_rate),
      ]),
    );
  },

  async period(signal) {
    const years = await breakdown('year', signal);
    const periods = /** @type {[string, (year: string) => boolean][]} */ ([
      ['all', () => true],
      ['to 2013', (year) => year <= '2013'],
      ['from 2014', (year) => year >= '2014'],
    ]);
    const rows = periods.flatMap(([name, isIn]) => {
      const groups = years.filter((/** @type {any} */ { group }) => isIn(group));
      if (groups.length === 0) return [];
      return [
        [
          name,
          number(sum(groups, 'n'), 0),
          number(mean(groups, 'mae_pp')),
          number(mean(groups, 'benchmark_mae_pp')),
          number(mean(groups, 'interval_score_80'), 1),
          share(mean(groups, 'coverage_80')),
          number(sum(groups, 'declines'), 0),
          number(sum(groups, 'decline_calls'), 0),
          number(sum(groups, 'declines_called'), 0),
        ],
      ];
    });
    return tableOr(
      [
        ...['Targets', 'Forecasts', 'Error (pp)', 'Persistence (pp)', 'Interval score', 'In the 80% interval'],
        ...['Declines', 'Forecast below 0', 'of these declined'],
      ],
      rows,
    );
  },

  async record(signal) {
    const runs = (await getJson('/forecast-runs', { signal })).data;
    return tableOr(
      ['Basis', 'Runs', 'First made', 'Last made'],
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
