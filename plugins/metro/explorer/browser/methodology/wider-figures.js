import { number, share } from '../../../../../core/pages/shared/format.js';
import { BENCHMARKS, breakdown, mean, sum, table } from './tables.js';

const HORIZONS = [3, 6, 12, 24];

/** @type {Readonly<Record<string, (get: import('./tables.js').Get) => Promise<string>>>} */
export const widerFigures = {
  async horizons(get) {
    const all = await Promise.all(
      HORIZONS.map(async (months) => (await get(`/forecast-backtest?horizon_months=${months}`)).data),
    );
    return table(
      ['Horizon', 'Forecasts', 'Error (pp)', 'Best benchmark', 'Its error (pp)', 'Skill', 'In the 80% interval'],
      all.flatMap((row) => {
        const [best] = row?.benchmarks ?? [];
        if (!best) return [];
        const scores = [number(row.mae_pp), `${BENCHMARKS[best.name]}`, number(best.mae_pp), share(best.skill_mae)];
        return [[`${row.horizon_months} months`, number(row.n, 0), ...scores, share(row.coverage_80)]];
      }),
    );
  },

  async areas(get) {
    const kinds = await Promise.all(
      /** @type {const} */ (['state', 'nation']).map(async (kind) => ({
        kind,
        rows: await breakdown(get, 'basis', `&kind=${kind}`),
      })),
    );
    return table(
      [
        'Areas',
        'Forecasts',
        'Error (pp)',
        'Persistence (pp)',
        'AR(1) (pp)',
        'Shrunk mean (pp)',
        'Skill against the best',
        'In the 80% interval',
      ],
      kinds.flatMap(({ kind, rows }) => {
        if (rows.length === 0) return [];
        const errors = ['mae_pp', 'benchmark_mae_pp', 'ar1_nation_mae_pp', 'shrunk_mean_mae_pp'].map((key) =>
          mean(rows, key),
        );
        const [error = 0, ...others] = errors;
        const skill = share(1 - error / Math.min(...others));
        const name = kind === 'state' ? 'states' : 'the nation';
        return [
          [
            name,
            number(sum(rows, 'n'), 0),
            ...errors.map((value) => number(value)),
            skill,
            share(mean(rows, 'coverage_80')),
          ],
        ];
      }),
      'The service has no past forecasts for the nation or the states.',
    );
  },
};
