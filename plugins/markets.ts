/** Markets: every metro with its latest figures, and its house price index. */
import { dataRoute, definePlugin } from '../core/contracts/plugin.js';
import { date, hpi, type Market, markets } from '../metro/collections.js';
import { metroService } from '../metro/service.js';
import { cbsaParameter, listOf, marketNotFound, PLUGIN_VERSION, requireMarket } from './shared.js';

export const marketSchema = { title: 'Market', ...markets.schema };

export const marketExample: Market = {
  id: 26420,
  cbsa: '26420',
  name: 'Houston-Pasadena-The Woodlands, TX',
  signal: 'hold',
  risk_score: 'B',
  yoy_price: 2.31,
  forecast_12m: 3.05,
};

const hpiObservation = {
  title: 'HpiObservation',
  type: 'object',
  required: ['period_start', 'value'],
  additionalProperties: false,
  properties: {
    period_start: { ...date, description: 'First day of the quarter.' },
    value: { type: 'number', description: 'Index level.' },
  },
};

export default definePlugin({
  name: 'markets',
  version: PLUGIN_VERSION,
  description: 'Metro areas with their latest signal, risk grade and forecast, and their index history.',
  collections: [markets, hpi],
  service: metroService,
  routes: () => [
    dataRoute({
      path: '/markets',
      operationId: 'listMarkets',
      summary: 'Every market with its latest signal, risk grade and 12-month forecast',
      description: 'Every market of the current snapshot, ordered by CBSA code.',
      response: {
        description: 'All markets.',
        schema: listOf(marketSchema),
        example: { data: [marketExample] },
      },
      handler: async (_input, { snapshot }) => ({ data: await snapshot.find(markets) }),
    }),
    dataRoute<{ cbsa: string }>({
      path: '/markets/{cbsa}',
      operationId: 'getMarket',
      summary: 'One market',
      parameters: { path: { cbsa: cbsaParameter } },
      errors: [marketNotFound],
      response: { description: 'The market.', schema: marketSchema, example: marketExample },
      handler: ({ cbsa }, { snapshot }) => requireMarket(snapshot, cbsa),
    }),
    dataRoute<{ cbsa: string }>({
      path: '/markets/{cbsa}/history',
      operationId: 'getMarketHistory',
      vintages: true,
      summary: 'The full quarterly house price index of one market',
      description: 'Oldest quarter first. Quarters without a published value are left out.',
      parameters: { path: { cbsa: cbsaParameter } },
      errors: [marketNotFound],
      response: {
        description: 'The index, one row a quarter.',
        schema: listOf(hpiObservation),
        example: { data: [{ period_start: '2025-10-01', value: 366.32 }] },
      },
      handler: async ({ cbsa }, { snapshot }) => {
        await requireMarket(snapshot, cbsa);
        const rows = await snapshot.find(hpi, { equal: { cbsa } });
        return { data: rows.map(({ period_start, value }) => ({ period_start, value })) };
      },
    }),
  ],
});
