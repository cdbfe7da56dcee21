/** Reference page at `/docs`, made in the browser from the served OpenAPI document. */
import { definePlugin, pageMount, version } from 'metro-forecast-api/plugin';

export default definePlugin({
  name: 'docs',
  version,
  description: 'A page that documents every endpoint, and tries them with the reader’s key.',
  routes: () => [],
  mounts: () => [
    pageMount({
      path: '/docs',
      summary: 'API reference',
      folder: new URL('./browser/', import.meta.url),
      at: 'docs/browser',
    }),
  ],
});
