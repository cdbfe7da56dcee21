/**
 * Publishes with the CLI under load. Each response must be from a single version, and replicas must soon serve the new
 * version.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import { writeVersions } from '../support/dataset-version.js';
import { type KnownBodies, knownBodies, PATHS } from '../support/known-bodies.js';
import { type Answer, LoadClient, longest, sendSteadily } from '../support/load-client.js';
import { follow, untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';

const VERSIONS = [1, 2, 3, 4];
const PER_SECOND = 600;
const FOLLOW_MS = 2000;

const REQUESTS = 10_000;

const assertWhole = (answers: readonly Answer[], known: KnownBodies): void => {
  const faults = new Map<string, number>();
  const seen = new Set<string>();
  for (const { path, status, headers, body } of answers) {
    const version = String(headers['snapshot-version']);
    seen.add(version);
    if (status === 200 && known.get(version)?.get(path) === body) continue;
    const fault = `${status} ${path} of ${version}`;
    faults.set(fault, (faults.get(fault) ?? 0) + 1);
  }
  assert.deepEqual([...faults], []);
  assert.sameMembers([...seen], [...known.keys()]);
};

describe('publishing to three replicas under load', () => {
  let service: Replicas;
  let versions: Awaited<ReturnType<typeof writeVersions>>;
  let key: string;

  before(async function () {
    this.timeout(60_000);
    versions = await writeVersions(VERSIONS);
    service = await startReplicas({ dataset: versions.directories[0] as string });
    ({ key } = await service.createKey(100_000_000));
  });

  after(async () => {
    await service?.stop();
    await versions?.remove();
  });

  it(`${REQUESTS} requests: each response is from one version, and all replicas follow within ${FOLLOW_MS} ms`, async function () {
    this.timeout(120_000);
    const known = await knownBodies(VERSIONS);
    const client = new LoadClient(service.url, key, 32);
    let next = 0;
    await untilKnown(service, key);
    const load = sendSteadily(client, PER_SECOND, () => PATHS[next++ % PATHS.length] as string);
    const followed: number[] = [];
    try {
      for (const [i, directory] of versions.directories.entries()) {
        if (i === 0) continue;
        const following = follow(service, key, `version-${VERSIONS[i]}`);
        await service.command('publish', directory);
        followed.push(await following);
      }
      while (next < REQUESTS) await delay(50);
    } finally {
      const answers = await load.stop();
      client.close();
      assertWhole(answers, known);
      console.log(
        `      ${answers.length} requests, longest ${longest(answers)} ms; all replicas followed within ${followed} ms`,
      );
    }
    for (const ms of followed) assert.isBelow(ms, FOLLOW_MS);
  });
});
