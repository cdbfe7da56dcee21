/** Pages at `/tables` to look through the tables of the plugin `tables`: lists, charts and single rows, for people. */
import { definePlugin, pageMount, version } from 'metro-forecast-api/plugin';

export default definePlugin({
  name: 'table-pages',
  version,
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
