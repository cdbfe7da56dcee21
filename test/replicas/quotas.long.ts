import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { writeVersions } from '../support/dataset-version.js';
import { request } from '../support/http-client.js';
import { type Answer, LoadClient, sendSteadily } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { REPLICAS, type Replicas, startReplicas } from '../support/replicas.js';
import { whileFrozen } from '../support/server-process.js';
import type { Server } from '../support/services.js';
import { isAllowed } from '../support/windows.js';
import { assertAllowedOrRejected, PATHS } from './limited-replicas.js';

const QUOTA = 4000;
const PER_SECOND = 100;
const DAY_MS = 86_400_000;
const TEST_MS = 90_000;
const OUTAGE_MS = 4000;
/** Unused permits are returned within three seconds. The margin allows for a slow machine. */
const RETURNED_MS = 4000;
const TIERS = { enterprise: {}, counted: { requestsPerDay: QUOTA }, uncounted: {} };

describe('quotas and usage of keys with three replicas behind nginx', function () {
  this.timeout(180_000);
  let service: Replicas;

  before(async () => {
    // A new quota starts at midnight, so a test must not run past midnight.
    const left = DAY_MS - (Date.now() % DAY_MS);
    if (left < 3 * TEST_MS) await delay(left);
    const versions = await writeVersions([1]);
    service = await startReplicas({
      dataset: versions.directories[0] as string,
      proxied: true,
      env: { METRO__AUTH__TIERS: JSON.stringify(TIERS), METRO__LIMITS__REPLICAS: String(REPLICAS) },
    }).finally(() => versions.remove());
  });

  after(() => service?.stop());

  const createKey = async (tier: string): Promise<{ id: string; key: string; first: readonly Answer[] }> => {
    const args = ['keys', 'create', '--name', tier, '--tier', tier, '--limit', '100000000', '--json'];
    const { id, key } = JSON.parse(await service.command(...args));
    return { id, key, first: await untilKnown(service, key) };
  };

  const underLoad = async (key: string, work: () => Promise<void>): Promise<readonly Answer[]> => {
    const client = new LoadClient(service.url, key, 32);
    let next = 0;
    const asking = sendSteadily(client, PER_SECOND, () => PATHS[next++ % PATHS.length] as string);
    try {
      await work();
    } finally {
      await asking.stop();
      client.close();
    }
    return asking.stop();
  };

  const replace = async (replica: Server, key: string): Promise<readonly Answer[]> => {
    await replica.kill('SIGTERM');
    await replica.restart();
    return untilKnown({ ...service, replicas: [replica] }, key);
  };

  const usageOf = async (id: string): Promise<{ requests: number; refused: number }> => {
    await delay(RETURNED_MS);
    const [{ data }] = JSON.parse(await service.command('keys', 'usage', id, '--json'));
    assert.lengthOf(data, 1);
    return data[0];
  };

  const counts = (answers: readonly Answer[]) => {
    assertAllowedOrRejected(answers);
    const requests = answers.filter(isAllowed).length;
    return { requests, refused: answers.length - requests };
  };

  it('a rolling restart under load: allows exactly the quota, and counts each request once', async () => {
    const { id, key, first } = await createKey('counted');
    const more: Answer[] = [...first];
    const answers = await underLoad(key, async () => {
      for (const replica of service.replicas) more.push(...(await replace(replica, key)));
      await delay((QUOTA / PER_SECOND) * 1000);
    });
    const { requests, refused } = counts([...answers, ...more]);
    console.log(`      ${requests} allowed, ${refused} rejected`);
    assert.equal(requests, QUOTA);
    assert.isAbove(refused, 0);
    const { body } = answers.findLast((answer) => !isAllowed(answer))!;
    assert.equal(JSON.parse(body).code, 'quota_exceeded');
    assert.deepInclude(await usageOf(id), { requests: QUOTA, refused });
  });

  it('without a quota: counts each request once during Redis outages and restarts', async () => {
    const { id, key, first } = await createKey('uncounted');
    const more: Answer[] = [...first];
    const { redis } = service.proxies!;
    const answers = await underLoad(key, async () => {
      for (const replica of service.replicas) {
        await delay(1000);
        // Redis applies the calls, but its replies are lost.
        redis.cutReplies();
        await delay(OUTAGE_MS);
        redis.mend();
        await delay(3000);
        more.push(...(await replace(replica, key)));
      }
    });
    const { requests, refused } = counts([...answers, ...more]);
    const used = await usageOf(id);
    console.log(`      ${requests} allowed, ${refused} rejected; usage has ${used.requests} and ${used.refused}`);
    assert.deepInclude(used, { requests, refused });
    const { json } = await request(`${service.url}/usage`, { headers: { Authorization: `Bearer ${key}` } });
    assert.equal((json as { data: { requests: number }[] }).data[0]!.requests, requests);
  });

  it('Redis frozen under load: allows no more than the stated bound, and counts each request afterwards', async () => {
    const { id, key, first } = await createKey('counted');
    const answers = await underLoad(key, async () => {
      await delay(3000);
      await whileFrozen(service.redis, () => delay(OUTAGE_MS));
      await delay(4000);
      await whileFrozen(service.redis, () => delay((QUOTA / PER_SECOND) * 1000));
      await delay(4000);
    });
    const { requests } = counts([...first, ...answers]);
    const bound = QUOTA + (REPLICAS - 1) * Math.floor(QUOTA / REPLICAS);
    console.log(`      quota ${QUOTA}: ${requests} allowed, bound ${bound}`);
    assert.isAtMost(requests, bound);
    assert.isAbove(requests, QUOTA * 0.9);
    assert.equal((await usageOf(id)).requests, requests);
  });
});
