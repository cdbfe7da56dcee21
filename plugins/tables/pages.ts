/** Pages at `/tables` to look through the tables of the plugin `tables`: lists, charts and single rows, for people. */
import { definePlugin } from '../../core/contracts/plugin.js';
import { packageVersion } from '../../core/util/package.js';
import { pageMount } from '../pages/page-mount.js';

export default definePlugin({
  name: 'table-pages',
  version: packageVersion,
  description: 'Pages to look through tables: search, sorting, filters and charts.',
  needs: ['tables', 'status'],
  routes: () => [],
  mounts: () => [
    pageMount({
      path: '/tables',
      summary: 'Tables',
      folder: new URL('./browser/', import.meta.url),
      at: 'tables/browser',
    }),
  ],
});
