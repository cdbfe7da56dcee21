/** Explorer at `/explore`: the published numbers as tables and charts, for people. */
import { createRequire } from 'node:module';
import { definePlugin } from '../../core/contracts/plugin.js';
import { asset, filesIn, pageMount } from '../pages/page-mount.js';
import { PLUGIN_VERSION } from '../shared.js';

const { resolve } = createRequire(import.meta.url);

export default definePlugin({
  name: 'explore',
  version: PLUGIN_VERSION,
  description: 'A page to look through markets, forecasts, movers, series, the backtest and the status.',
  needs: ['markets', 'forecasts', 'observations', 'signals', 'status'],
  routes: () => [],
  mounts: () => [
    pageMount({
      path: '/explore',
      summary: 'Explorer',
      files: {
        ...filesIn(asset('explore', 'assets')),
        'uplot.js': resolve('uplot/dist/uPlot.iife.min.js'),
        'uplot.css': resolve('uplot/dist/uPlot.min.css'),
      },
    }),
  ],
});
