/** Creates and drops full-text indexes for 30 seconds: `node sqlite-index-creator.js FILE`. */
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';

const [file = ''] = process.argv.slice(2);

const db = new Database(file);
db.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF');
process.stdout.write('begun\n');
for (const until = performance.now() + 30_000; performance.now() < until; await delay(1)) {
  for (let i = 0; i < 20; i++) db.exec('CREATE VIRTUAL TABLE other USING fts5(words); DROP TABLE other');
}
