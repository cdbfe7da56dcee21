/** Serves the API reference and two guides at `/docs`. The browser builds the reference from the OpenAPI document. */
import { definePlugin, guidePage, pageMount, version } from 'metro-forecast-api/plugin';

export default definePlugin({
  name: 'docs',
  version,
  description: 'A page that documents every endpoint and can send requests with the user’s key.',
  routes: () => [],
  mounts: () => [
    pageMount({
      path: '/docs',
      summary: 'API reference',
      folder: new URL('./browser/', import.meta.url),
      at: 'plugins/docs/browser',
    }),
    guidePage('/docs/csv', 'CSV and Parquet', 'reference/formats.md'),
    guidePage('/docs/spreadsheets', 'Excel and Google Sheets', 'guides/spreadsheets.md'),
  ],
});
