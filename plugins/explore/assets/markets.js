/** All markets: searchable, sortable, each a link to its page. */
import { getJson } from './api.js';
import { HPI } from './catalog.js';
import { h } from './dom.js';
import { dataTools } from './figure.js';
import { badge, percent } from './format.js';
import { dataTable } from './table.js';

/**
 * @typedef {{ cbsa: string, name: string, signal: string | null, risk_score: string | null,
 *   yoy_price: number | null, forecast_12m: number | null }} Market
 */

/** @param {string} cbsa @param {string} name */
export const marketLink = (cbsa, name) => h('a', { href: `#/markets/${cbsa}` }, name);

/** @type {import('./table.js').Column<Market>[]} */
const COLUMNS = [
  { label: 'Market', cell: ({ cbsa, name }) => marketLink(cbsa, name), value: ({ name }) => name },
  {
    label: 'Forecast',
    cell: ({ forecast_12m }) => percent(forecast_12m),
    value: ({ forecast_12m }) => forecast_12m,
    numeric: true,
  },
  { label: 'Signal', cell: ({ signal }) => badge(signal), value: ({ signal }) => signal },
  { label: 'Grade', cell: ({ risk_score }) => badge(risk_score), value: ({ risk_score }) => risk_score },
  {
    label: 'Last year',
    cell: ({ yoy_price }) => percent(yoy_price),
    value: ({ yoy_price }) => yoy_price,
    numeric: true,
  },
  { label: 'CBSA', cell: ({ cbsa }) => cbsa, value: ({ cbsa }) => cbsa, name: 'wide' },
];

/** @type {import('./router.js').Route} */
export const marketsView = async (_parameters, signal) => {
  const { data } = await getJson('/markets', { signal });
  if (data.length === 0) {
    const advice = 'The dataset has no markets yet. Whoever runs the service brings them in with ';
    return {
      title: 'Markets',
      content: [h('p', { class: 'notice' }, advice, h('code', {}, 'metro-forecast import'), '.')],
    };
  }
  const count = h('p', { class: 'muted', role: 'status' });
  const table = dataTable({
    caption: '12-month forecast, and change over the last 12 months, with signal and risk grade (A low, F high).',
    columns: COLUMNS,
    rows: /** @type {Market[]} */ (data),
    sort: 0,
    text: ({ name, cbsa, signal, risk_score }) =>
      `${name} ${cbsa} ${signal ?? ''} ${risk_score ? `grade:${risk_score}` : ''}`,
    onshow: (shown, all) => {
      count.textContent =
        shown === 0
          ? 'No market has all of these words. Search for less.'
          : shown === all
            ? `${all} markets`
            : `${shown} of ${all} markets`;
    },
  });
  const search = h('input', {
    id: 'search',
    type: 'search',
    placeholder: 'Houston, 26420, expand, grade:A',
    oninput: () => table.filter(search.value),
  });
  return {
    title: 'Markets',
    series: [HPI],
    content: [
      h('div', { class: 'row search' }, h('div', {}, h('label', { for: 'search' }, 'Search markets'), search), count),
      table.element,
      dataTools([{ label: 'markets', target: '/markets', file: 'markets' }]),
    ],
  };
};
