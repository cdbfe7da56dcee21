/** `npm run replicas` runs MongoDB, Redis, three replicas and nginx for manual tests, until Ctrl-C. */
import { join } from 'node:path';
import { packageRoot } from '../core/util/package.js';
import { startReplicas } from '../test/support/replicas.js';

const dataset = process.argv[2] ?? join(packageRoot, 'plugins/metro/dataset');
process.stderr.write(`Starting MongoDB, Redis, three replicas and nginx over ${dataset} ...\n`);
const service = await startReplicas();
await service.command('publish', dataset);
const { key } = await service.createKey();
const { redis, mongo, replicas, url, env } = service;
const rows = [
  ['nginx', url],
  ...replicas.map((replica, i) => [`replica ${i + 1}`, `${replica.url}  (process ${replica.pid})`]),
  ['redis', `${redis.url}  (process ${redis.pid})`],
  ['mongo', `${mongo.url}  (process ${mongo.pid})`],
];
const variables = Object.entries({ ...env, METRO_CONFIG: 'config/replicas.json' });
process.stdout.write(`
${rows.map(([name, what]) => `  ${name!.padEnd(11)}${what}`).join('\n')}

  curl -H "Authorization: Bearer ${key}" ${url}/markets

For the command line in another terminal:

${variables.map(([name, value]) => `  export ${name}='${value}'`).join('\n')}

Everything runs until Ctrl-C. All data is then deleted.
`);
setInterval(() => undefined, 2 ** 30);
