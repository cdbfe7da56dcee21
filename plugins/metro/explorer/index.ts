/** Explorer at `/explore`: the published numbers as a map, charts and tables, for people. */
import { definePlugin } from '../../../core/contracts/plugin.js';
import { packageVersion } from '../../../core/util/package.js';
import { pageMount } from '../../pages/page-mount.js';

export default definePlugin({
  name: 'explore',
  version: packageVersion,
  description: 'A page to look through markets, forecasts, movers, series, the backtest and the status.',
  needs: ['markets', 'forecasts', 'observations', 'signals', 'status'],
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      frameAncestors: {
        description: 'Origins whose pages may show /explore/embed in a frame: https://example.com. None by default.',
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
    }),
  ],
});
