import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from 'chai';
import { eventually } from '../../adapters/conformance/expect.js';
import { writeVersions } from '../support/dataset-version.js';
import { type Answer, LoadClient, longest, sendSteadily } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';
import { whileFrozen } from '../support/server-process.js';
import type { Server } from '../support/services.js';

const RESTARTS = 10;
const PER_SECOND = 400;
const DAY_MS = 86_400_000;
const CACHED = ['/markets', '/markets/12060/history', '/movers', '/signals', '/series'];

describe('replicas behind nginx, replaced under keep-alive load', function () {
  this.timeout(60_000 + RESTARTS * 15_000);
  let service: Replicas;
  let versions: Awaited<ReturnType<typeof writeVersions>>;
  let key: string;

  before(async () => {
    versions = await writeVersions([1]);
    service = await startReplicas({ dataset: versions.directories[0] as string });
    ({ key } = await service.createKey(1_000_000));
    await untilKnown(service, key);
  });

  after(async () => {
    await service?.stop();
    await versions?.remove();
  });

  let asked = 0;
  const nextPath = (): string => {
    asked++;
    if (asked % 4 > 0) return CACHED[asked % CACHED.length] as string;
    const since = new Date(Date.UTC(1500, 0, 1) + asked * DAY_MS).toISOString().slice(0, 10);
    return `/observations?series_id=metro_hpi&since=${since}`;
  };

  const replace = async (replica: Server): Promise<void> => {
    await replica.kill('SIGTERM');
    await replica.restart();
    await untilKnown({ ...service, replicas: [replica] }, key);
  };

  const underLoad = async (work: () => Promise<void>): Promise<readonly Answer[]> => {
    const client = new LoadClient(service.url, key, 64);
    const asking = sendSteadily(client, PER_SECOND, nextPath);
    await work().finally(() => asking.stop());
    const answers = await asking.stop();
    client.close();
    return answers;
  };

  const assertNoneFailed = (answers: readonly Answer[]): void => {
    const failed = answers.filter(({ status }) => status !== 200);
    console.log(`      ${failed.length} of ${answers.length} requests failed, ${longest(answers)} ms at most`);
    assert.isAbove(answers.length, PER_SECOND);
    assert.deepEqual(
      failed.map(({ path, status, body }) => ({ path, status, body })),
      [],
    );
  };

  it(`SIGTERM to one of three replicas (${RESTARTS} times) fails no request`, async () => {
    const answers = await underLoad(async () => {
      for (let i = 0; i < RESTARTS; i++) await replace(service.replicas[i % service.replicas.length] as Server);
    });
    assertNoneFailed(answers);
  });

  it('a rolling restart fails no request', async () => {
    const answers = await underLoad(async () => {
      for (const replica of service.replicas) await replace(replica);
    });
    assertNoneFailed(answers);
  });

  it('a replica that starts while MongoDB is frozen gets no request before it is ready', async () => {
    const replica = service.replicas[0] as Server;
    await replica.kill('SIGTERM');
    const log = join(replica.folder, 'stderr');
    const before = readFileSync(log, 'utf8').length;
    const isMissed = () => {
      const logged = readFileSync(log, 'utf8').slice(before);
      return logged.includes('MongoDB is unreachable') && logged.includes('the key store is unreachable');
    };
    const restarted = await whileFrozen(service.mongo, async () => {
      const done = replica.restart();
      await eventually('the replica has logged that MongoDB is unreachable', isMissed, 30_000);
      return { done };
    });
    await restarted.done;
    const client = new LoadClient(replica.url, key, 1);
    const { status, body } = await client.get('/markets');
    client.close();
    assert.equal(status, 200, body);
  });
});
