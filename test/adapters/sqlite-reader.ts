/**
 * Reads pages until standard input closes: `node sqlite-reader.js FOLDER`. Prints the numbers of reads, versions and
 * errors. A list with items from different versions is an error.
 */

import { find } from '../../adapters/conformance/find-rows.js';
import { crowd, items } from '../../adapters/conformance/fixture.js';
import { withSnapshot } from '../../adapters/conformance/instance.js';
import sqlite from '../../adapters/sqlite/index.js';
import { contextIn } from './sqlite-store.js';

const [folder = ''] = process.argv.slice(2);

const adapter = sqlite.create({ path: 'data.db', pollMs: 20 }, contextIn(folder));
await adapter.open();
let going = true;
process.stdin.on('end', () => {
  going = false;
});
process.stdin.resume();
process.stdout.write('reading\n');

const versions = new Set<string>();
let reads = 0;
const errors: string[] = [];
for (let start = 0; going; start = (start + 7) % 40) {
  try {
    await withSnapshot({ adapter }, async (snapshot) => {
      versions.add(snapshot.version);
      const labels = new Set((await find(snapshot, items)).map(({ label }) => label));
      await new Promise(setImmediate);
      const page = await find(snapshot, crowd, { after: [start, 500], limit: 200 });
      if (labels.size !== 1 || !labels.has(snapshot.version)) errors.push(`mixed: ${[...labels]}`);
      if (page.length !== 200) errors.push(`${page.length} rows in a page`);
    });
    reads++;
  } catch (error) {
    errors.push(String(error));
  }
}
process.stdout.write(`${JSON.stringify({ reads, versions: versions.size, errors: errors.slice(0, 5) })}\n`);
await adapter.close();
