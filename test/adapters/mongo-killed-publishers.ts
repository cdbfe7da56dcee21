import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../adapters/conformance/expect.js';
import { anotherDataset, datasetOf, itemsOf } from '../../adapters/conformance/fixture.js';
import { mongoForTests, uniqueName } from '../support/services.js';
import { Replicas, rowsToPublish } from './mongo-replica.js';

const publisher = fileURLToPath(new URL('./mongo-publisher.js', import.meta.url));

export const describeKilledPublishers = (moments: readonly number[]): void => {
  describe('publishing to MongoDB', () => {
    let replicas: Replicas;

    beforeEach(async () => {
      replicas = new Replicas((await mongoForTests()).url, uniqueName('publish'));
    });
    afterEach(() => replicas.end());

    it(`keeps the served version intact after ${moments.length} publishers were killed with SIGKILL, and publishes again`, async function () {
      this.timeout(30_000 + 10_000 * moments.length);
      const observer = await replicas.open();
      await observer.adapter.publish(datasetOf());
      const content = rowsToPublish();
      const startedAt = performance.now();
      await observer.adapter.publish(
        datasetOf('measured', new Date().toISOString(), { ...content, items: itemsOf('measured') }),
      );
      const duration = performance.now() - startedAt;

      for (const [i, moment] of moments.entries()) {
        const before = observer.version();
        const child = spawn(process.execPath, [publisher, replicas.uri, replicas.database, `killed-${i}`], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const ended = once(child, 'exit');
        await once(child.stdout, 'data');
        await delay(moment * duration);
        child.kill('SIGKILL');
        await ended;

        const when = `killed at ${moment.toFixed(2)} of ${Math.round(duration)} ms`;
        const { versions } = observer.adapter;
        const { version } = (await versions.list()).find(({ current }) => current)!;
        assert(version === before || version === `killed-${i}`, `served is ${version}, ${when}`);
        // The publication may have completed just before the process was killed.
        await eventually('the replica follows', () => observer.version() === version, 5000);
        assert.deepEqual(await observer.items(), itemsOf(version));
        await observer.adapter.publish(anotherDataset(`next-${i}`, new Date().toISOString()));
        assert.deepEqual(await observer.items(), itemsOf(`next-${i}`));
        const ids = (await replicas.raw((db) => db.collection('catalog').findOne()))?.['versions'].map(
          ({ id }: { id: number }) => id,
        );
        assert.deepEqual(await replicas.storedIds(), ids, `data is left over, ${when}`);
      }
    });
  });
};
