/**
 * Writes keys in a child process: `node key-writer.js FILE NAME COUNT`. If COUNT is `stop`, the process takes the lock
 * and never releases it.
 */
import { systemClock } from '../../../core/contracts/runtime.js';
import { FileKeyStore } from '../../../core/keys/file-key-store.js';
import { createKey } from '../../../core/keys/key.js';
import { withFileLock } from '../../../core/util/lock.js';

const [path = '', name = '', count = ''] = process.argv.slice(2);

if (count === 'stop') {
  await withFileLock(path, async () => {
    process.stdout.write('locked\n');
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  });
}
const store = new FileKeyStore(
  { path, pollMs: 1000 },
  { logger: console as never, clock: systemClock, resolvePath: (each) => each },
);
await store.open();
for (let i = 0; i < Number(count); i++) {
  const { hash, id } = createKey();
  await store.insert({
    id,
    hash,
    name: `${name} ${i}`,
    tier: 'enterprise',
    limit_per_minute: null,
    created_at: new Date().toISOString(),
    expires_at: null,
    revoked_at: null,
  });
}
await store.close();
