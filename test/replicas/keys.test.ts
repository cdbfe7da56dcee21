/** Keys and versions changed by the command line, in force on every replica in time, also where nothing tells of changes. */
import { assert } from 'chai';
import { writeVersions } from '../support/dataset-version.js';
import { everyReplica, follow, untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';

const KEYS_MS = 5000;
const VERSIONS_MS = 2000;

for (const standalone of [false, true]) {
  describe(`three replicas over a MongoDB ${standalone ? 'without change streams' : 'with change streams'}`, () => {
    let service: Replicas;
    let versions: Awaited<ReturnType<typeof writeVersions>>;

    before(async function () {
      this.timeout(60_000);
      versions = await writeVersions([1, 2]);
      service = await startReplicas({ dataset: versions.directories[0] as string, standalone });
    });

    after(async () => {
      await service?.stop();
      await versions?.remove();
    });

    const assertInTime = (ms: number, limit: number): void => {
      console.log(`      on the last replica after ${ms} ms`);
      assert.isBelow(ms, limit);
    };

    it(`a revoked key is refused by all of them within ${KEYS_MS} ms`, async function () {
      this.timeout(40_000);
      const { id, key } = await service.createKey();
      await untilKnown(service, key);
      await service.command('keys', 'revoke', id);
      const since = performance.now();
      await everyReplica(service, key, ({ status, body }) => status === 401 && body.includes('invalid_api_key'));
      assertInTime(Math.round(performance.now() - since), KEYS_MS);
    });

    it(`a lowered limit is applied by all of them within ${KEYS_MS} ms`, async function () {
      this.timeout(40_000);
      const { id, key } = await service.createKey(100_000);
      await untilKnown(service, key);
      await service.command('keys', 'limit', id, '3');
      const since = performance.now();
      // Three are used up already: one at each replica.
      const answers = await everyReplica(service, key, ({ status }) => status === 429);
      assertInTime(Math.round(performance.now() - since), KEYS_MS);
      for (const { headers } of answers) assert.equal(headers['ratelimit-policy'], '"default";q=3;w=60');
    });

    it(`a published version is served by all of them within ${VERSIONS_MS} ms`, async function () {
      this.timeout(40_000);
      const { key } = await service.createKey(100_000);
      await untilKnown(service, key);
      const following = follow(service, key, 'version-2');
      await service.command('publish', versions.directories[1] as string);
      assertInTime(await following, VERSIONS_MS);
    });
  });
}
