import { definePlugin, embedOptions, pageMount, version } from 'metro-forecast-api/plugin';
import { tablesFrontPage } from './front-page.js';

export default definePlugin({
  name: 'table-pages',
  version,
  description: 'Web pages for tables, with search, sorting, filters and charts.',
  needs: ['tables', 'status'],
  options: { type: 'object', additionalProperties: false, properties: embedOptions },
  routes: () => [],
  mounts: (embed) => [
    pageMount({
      path: '/tables',
      summary: 'Tables',
      folder: new URL('./browser/', import.meta.url),
      at: 'plugins/tables/browser',
      embed,
      frontPage: tablesFrontPage,
    }),
  ],
});
