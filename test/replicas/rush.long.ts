import { assert } from 'chai';
import { request } from '../support/http-client.js';
import { type Answer, sendAll } from '../support/load-client.js';
import { isAllowed } from '../support/windows.js';
import {
  assertAllowedOrRejected,
  CLOCK_SHIFT_MS,
  type LimitedReplicas,
  PATHS,
  startLimitedReplicas,
} from './limited-replicas.js';

const pathsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => PATHS[i % PATHS.length] as string);

describe('limits with three replicas, one of which has a clock 30 seconds ahead', () => {
  let replicas: LimitedReplicas;

  before(async function () {
    this.timeout(60_000);
    replicas = await startLimitedReplicas();
  });

  after(() => replicas?.stop());

  const flood = async (limit: number | undefined, requests: number): Promise<Answer[]> => {
    const { clients, first } = await replicas.newKey(limit);
    const share = pathsOf(requests / clients.length);
    return [...first, ...(await Promise.all(clients.map((caller) => sendAll(caller, share, 12)))).flat()];
  };

  it('the clocks differ', async () => {
    // The Last-Modified of the OpenAPI document is the time at which the replica started, according to the clock of the
    // replica.
    const startTimes = await Promise.all(
      replicas.service.replicas.map(async ({ url }) => {
        const { headers } = await request(`${url}/openapi.json`);
        return Date.parse(headers['last-modified'] as string);
      }),
    );
    assert.closeTo((startTimes[2] as number) - (startTimes[0] as number), CLOCK_SHIFT_MS, CLOCK_SHIFT_MS / 2);
  });

  it('600 per minute: allows exactly 600 of 6,000 requests from four clients', async function () {
    this.timeout(60_000);
    const answers = await flood(undefined, 6000);
    assertAllowedOrRejected(answers);
    assert.equal(answers.filter(isAllowed).length, 600);
    const processes = new Set(answers.map(({ headers }) => String(headers['x-request-id']).split('-')[0]));
    assert.equal(processes.size, replicas.service.replicas.length);
  });

  it('6,000 per minute: allows exactly 6,000 of 12,000 requests from four clients', async function () {
    this.timeout(60_000);
    const answers = await flood(6000, 12_000);
    assertAllowedOrRejected(answers);
    assert.equal(answers.filter(isAllowed).length, 6000);
  });
});
