/** The view of movers, which shows the largest changes in forecasts between the last two runs. */
import { badge } from '../../../pages/data-views/badge.js';
import { bar } from '../../../pages/data-views/bars.js';
import { dataTools } from '../../../pages/data-views/figure.js';
import { column, dataTable, numbers } from '../../../pages/data-views/table.js';
import { getJson } from '../../../pages/shared/api.js';
import { h } from '../../../pages/shared/dom.js';
import { day, percent, points } from '../../../pages/shared/format.js';
import { markOf } from './basis.js';
import { allMarkets, HPI } from './catalog.js';
import { mainDriver } from './inputs.js';
import { marketLink } from './search.js';

const TARGET = '/movers?limit=50';

/** @typedef {Required<import('../../client/api-types.js').Mover>} Mover */

/** @param {number} most @returns {import('../../../pages/data-views/table.js').Column<Mover>[]} */
const columns = (most) => [
  { label: 'Market', cell: ({ cbsa, name }) => marketLink(cbsa, name), value: ({ name }) => name, name: 'named' },
  numbers('Change', ({ delta_pp }) => delta_pp, points),
  {
    label: 'Down or up',
    cell: ({ delta_pp }) => bar(delta_pp, { least: -most, most, color: delta_pp < 0 ? 'fall-2' : 'rise-4' }),
    name: 'wide',
  },
  { label: 'Forecast', cell: (row) => percent(row.forecast_12m), value: (row) => row.forecast_12m, numeric: true },
  numbers('Before', (row) => row.prior_forecast_12m, percent),
  { label: 'Main driver', cell: mainDriver },
  column('Signal', ({ signal }) => signal, badge),
  column('Signal before', (row) => row.prior_signal, badge),
];

/** @type {import('../../../pages/data-views/router.js').Route} */
export const moversView = async (_parameters, signal) => {
  const [{ data }, markets] = await Promise.all([getJson(TARGET, { signal }), allMarkets()]);
  const forecast = /** @type {Mover[]} */ (markets).filter(({ forecast_12m }) => forecast_12m !== null).length;
  const newest = /** @type {Mover | undefined} */ (data[0]);
  const body = newest
    ? [
        h(
          'p',
          {},
          `The ${data.length} largest changes among the 12-month forecasts of ${forecast} markets, from the run of ${day(newest.prior_run_at)}`,
          ...markOf(newest.prior_basis),
          ` to that of ${day(newest.run_at)}`,
          ...markOf(newest.basis),
          '.',
        ),
        dataTable({
          caption: 'Largest change first, up or down.',
          columns: columns(Math.max(...data.map((/** @type {Mover} */ { delta_pp }) => Math.abs(delta_pp)))),
          rows: /** @type {Mover[]} */ (data),
        }).element,
      ]
    : [
        h(
          'p',
          { class: 'notice' },
          'There are no movers yet: they need two completed runs. The operator of the service creates runs with ',
          h('code', {}, 'metro-forecast forecast'),
          '.',
        ),
      ];
  return {
    title: 'Movers',
    series: [HPI],
    content: [...body, dataTools({ sources: [{ label: 'movers', target: TARGET, file: 'movers' }] })],
  };
};
