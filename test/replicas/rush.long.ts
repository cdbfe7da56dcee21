/** The limits of keys over three replicas behind nginx, by what callers see. */
import { assert } from 'chai';
import { request } from '../support/http-client.js';
import { type Answer, askAll } from '../support/load-client.js';
import { isPassed } from '../support/windows.js';
import {
  assertOnlyPassedOrRefused,
  CLOCK_SHIFT_MS,
  type LimitedReplicas,
  PATHS,
  startLimitedReplicas,
} from './limited-replicas.js';

const pathsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => PATHS[i % PATHS.length] as string);

describe('limits over three replicas, the clock of one being 30 seconds ahead', () => {
  let replicas: LimitedReplicas;

  before(async function () {
    this.timeout(60_000);
    replicas = await startLimitedReplicas();
  });

  after(() => replicas?.stop());

  const flood = async (limit: number | undefined, requests: number): Promise<Answer[]> => {
    const { callers, first } = await replicas.newKey(limit);
    const share = pathsOf(requests / callers.length);
    return [...first, ...(await Promise.all(callers.map((caller) => askAll(caller, share, 12)))).flat()];
  };

  it('the clocks differ', async () => {
    // This document is as old as its process, by that process's clock.
    const startTimes = await Promise.all(
      replicas.service.replicas.map(async ({ url }) => {
        const { headers } = await request(`${url}/openapi.json`);
        return Date.parse(headers['last-modified'] as string);
      }),
    );
    assert.closeTo((startTimes[2] as number) - (startTimes[0] as number), CLOCK_SHIFT_MS, CLOCK_SHIFT_MS / 2);
  });

  it('600 a minute, 6,000 requests of four clients as fast as they go: exactly 600 pass', async function () {
    this.timeout(60_000);
    const answers = await flood(undefined, 6000);
    assertOnlyPassedOrRefused(answers);
    assert.equal(answers.filter(isPassed).length, 600);
    const processes = new Set(answers.map(({ headers }) => String(headers['x-request-id']).split('-')[0]));
    assert.equal(processes.size, replicas.service.replicas.length);
  });

  it('6,000 a minute, 12,000 requests of four clients as fast as they go: exactly 6,000 pass', async function () {
    this.timeout(60_000);
    const answers = await flood(6000, 12_000);
    assertOnlyPassedOrRefused(answers);
    assert.equal(answers.filter(isPassed).length, 6000);
  });
});
