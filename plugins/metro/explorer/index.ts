import { definePlugin, pageMount, version } from 'metro-forecast-api/plugin';
import { metroFrontPage } from './front-page.js';

export default definePlugin({
  name: 'explore',
  version,
  description: 'Pages that show markets, forecasts, movers, series, the backtest and the status.',
  needs: ['markets', 'forecasts', 'observations', 'signals', 'status'],
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      frameAncestors: {
        description: 'Origins that may embed /explore/embed in a frame, such as https://example.com. Default: none.',
        type: 'array',
        items: { type: 'string', pattern: "^(https?://[^\\s;,'*]+|'self')$" },
      },
    },
  },
  routes: () => [],
  mounts: ({ frameAncestors = [] }) => [
    pageMount({
      path: '/explore',
      summary: 'Explorer',
      folder: new URL('./browser/', import.meta.url),
      at: 'metro/explorer/browser',
      values: { embeds: frameAncestors.join(', ') },
      framedBy: { embed: frameAncestors },
      frontPage: metroFrontPage,
    }),
  ],
});
