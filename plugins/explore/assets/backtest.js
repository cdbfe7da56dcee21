/** How good the forecasts were, over all markets and runs whose outcome is published. */
import { getJson } from './api.js';
import { HPI } from './catalog.js';
import { h } from './dom.js';
import { dataTools } from './figure.js';
import { day, number, points, quarter, share } from './format.js';
import { keyFigures } from './market.js';

const TOOLS = [{ label: 'backtest', target: '/forecast-backtest' }];

/** @param {number} value */
const size = (value) => `${number(value)} pp`;

/**
 * What a hit rate has to be read beside. Datasets of version 1.0 lack it.
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

/** @type {import('./router.js').Route} */
export const backtestView = async (_parameters, signal) => {
  const { data } = await getJson('/forecast-backtest', { signal });
  if (data === null) {
    const reason = 'There is none yet: it takes 12 months of completed runs, and outcomes to compare them with.';
    return { title: 'Backtest', series: [HPI], content: [h('p', { class: 'notice' }, reason), dataTools(TOOLS)] };
  }
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
        ['Mean absolute error', size(data.mae_pp)],
        [`Error of ${data.benchmark.name}`, size(data.benchmark.mae_pp)],
        ['Skill: share of that error saved', share(data.skill_mae)],
        ['Inside the 80% band', share(data.coverage_80)],
        ['Right direction', share(data.direction_hit_rate)],
        ...beside(data),
        ['Bias: came true less forecast', points(data.bias_pp)],
        ['Root mean squared error', size(data.rmse_pp)],
        ['Interval score', number(data.interval_score_80)],
      ]),
      h(
        'p',
        { class: 'muted' },
        `The benchmark, ${data.benchmark.name}, says that the last 12-month change repeats itself. Outcomes are those published by ${day(data.realized_vintage)}; computed ${day(data.as_of)}.`,
      ),
      dataTools(TOOLS),
    ],
  };
};
