/** The figures of the methodology, read from the snapshot that the service has now. */
import { getJson } from './api.js';
import { table } from './markdown.js';

/** @type {(value: number, digits?: number) => string} */
const number = (value, digits = 2) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** @param {number | null} value a fraction */
const share = (value) => (value === null ? '' : `${number(100 * value, 1)}%`);

/**
 * @param {string} by
 * @param {AbortSignal} [signal]
 */
const breakdown = async (by, signal) => (await getJson(`/forecast-backtest/breakdown?by=${by}`, { signal })).data;

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
      'The newest run has published none.',
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
    const rows = await breakdown('grade', signal);
    return tableOr(
      ['Grade', 'Forecasts', 'Predicted', 'Declined'],
      rows.map((/** @type {any} */ row) => [
        row.group,
        number(row.n, 0),
        share(row.predicted_decline_share),
        share(row.decline_share),
      ]),
    );
  },

  async years(signal) {
    const rows = await breakdown('year', signal);
    rows.sort((/** @type {any} */ a, /** @type {any} */ b) => b.mae_pp - a.mae_pp);
    return tableOr(
      [
        'Year',
        'Forecasts',
        'Mean error (pp)',
        'Persistence (pp)',
        'Bias (pp)',
        'In the 80% interval',
        'Right direction',
        'Always up',
      ],
      rows.map((/** @type {any} */ row) => [
        row.group,
        number(row.n, 0),
        number(row.mae_pp),
        number(row.benchmark_mae_pp),
        number(row.bias_pp),
        share(row.coverage_80),
        share(row.direction_hit_rate),
        share(row.always_up_hit_rate),
      ]),
    );
  },

  async period(signal) {
    const { data } = await getJson('/forecast-backtest', { signal });
    if (data === null) return NOTHING;
    return table(
      [
        'Targets',
        'Forecasts',
        'Mean error (pp)',
        'Persistence (pp)',
        'Interval score',
        'In the 80% interval',
        'Declines',
        'of these called',
      ],
      [
        [
          `${data.window_start.slice(0, 4)} to ${data.window_end.slice(0, 4)}`,
          number(data.n, 0),
          number(data.mae_pp),
          number(data.benchmark.mae_pp),
          number(data.interval_score_80, 1),
          share(data.coverage_80),
          data.declines === undefined ? '' : number(data.declines, 0),
          data.declines_called === undefined ? '' : number(data.declines_called, 0),
        ],
      ],
    );
  },
};
