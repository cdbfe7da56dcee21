import { definePlugin, embedOptions, pageMount, version } from 'metro-forecast-api/plugin';
import { metroFrontPage } from './front-page.js';

export default definePlugin({
  name: 'explore',
  version,
  description: 'Pages that show markets, forecasts, movers, series, the backtest and the status.',
  needs: ['markets', 'forecasts', 'observations', 'signals', 'status'],
  options: {
    type: 'object',
    additionalProperties: false,
    properties: embedOptions,
  },
  routes: () => [],
  mounts: (embed) => [
    pageMount({
      path: '/explore',
      summary: 'Explorer',
      folder: new URL('./browser/', import.meta.url),
      at: 'plugins/metro/explorer/browser',
      embed,
      frontPage: metroFrontPage,
    }),
  ],
});
