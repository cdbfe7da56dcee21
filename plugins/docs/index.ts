/** Reference page at `/docs`, made in the browser from the served OpenAPI document. */
import { definePlugin } from '../../core/contracts/plugin.js';
import { packageVersion } from '../../core/util/package.js';
import { pageMount } from '../pages/page-mount.js';

export default definePlugin({
  name: 'docs',
  version: packageVersion,
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
