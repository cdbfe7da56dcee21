/** The product's configuration: what its file and its environment variables are called. */
import { join } from 'node:path';
import { configLoader } from '../core/config/load.js';
import { packageRoot } from '../core/files/package.js';
import { moduleFaults } from './load-modules.js';

export const loadConfig = configLoader({
  prefix: 'METRO',
  embedded: join(packageRoot, 'config/default.json'),
  variables: [
    { variable: 'HOST', path: ['server', 'host'] },
    { variable: 'PORT', path: ['server', 'port'] },
    { variable: 'REDIS_URL', path: ['redis', 'url'], secret: true },
    {
      variable: 'MONGODB_URI',
      path: ['adapter', 'options', 'uri'],
      when: { at: ['adapter'], use: 'mongo' },
      secret: true,
    },
    {
      variable: 'MONGODB_URI',
      path: ['auth', 'keys', 'options', 'uri'],
      when: { at: ['auth', 'keys'], use: 'mongo' },
      secret: true,
    },
  ],
  moduleFaults,
});
