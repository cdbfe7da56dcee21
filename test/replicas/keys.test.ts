import { assert } from 'chai';
import { writeVersions } from '../support/dataset-version.js';
import { everyReplica, follow, untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';

const KEYS_MS = 5000;
const VERSIONS_MS = 2000;

for (const standalone of [false, true]) {
  describe(`three replicas on a MongoDB ${standalone ? 'without change streams' : 'with change streams'}`, () => {
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
      console.log(`      on all replicas after ${ms} ms`);
      assert.isBelow(ms, limit);
    };

    it(`all replicas reject a revoked key within ${KEYS_MS} ms`, async function () {
      this.timeout(40_000);
      const { id, key } = await service.createKey();
      await untilKnown(service, key);
      await service.command('keys', 'revoke', id);
      const since = performance.now();
      await everyReplica(service, key, ({ status, body }) => status === 401 && body.includes('invalid_api_key'));
      assertInTime(Math.round(performance.now() - since), KEYS_MS);
    });

    it(`all replicas apply a lowered limit within ${KEYS_MS} ms`, async function () {
      this.timeout(40_000);
      const { id, key } = await service.createKey(100_000);
      await untilKnown(service, key);
      await service.command('keys', 'limit', id, '3');
      const since = performance.now();
      // Each replica has already allowed one request with this key.
      const answers = await everyReplica(service, key, ({ status }) => status === 429);
      assertInTime(Math.round(performance.now() - since), KEYS_MS);
      for (const { headers } of answers) assert.equal(headers['ratelimit-policy'], '"default";q=3;w=60');
    });

    it(`all replicas serve a published version within ${VERSIONS_MS} ms`, async function () {
      this.timeout(40_000);
      const { key } = await service.createKey(100_000);
      await untilKnown(service, key);
      const following = follow(service, key, 'version-2');
      await service.command('publish', versions.directories[1] as string);
      assertInTime(await following, VERSIONS_MS);
    });
  });
}
