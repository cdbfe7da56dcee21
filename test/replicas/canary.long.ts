import { assert } from 'chai';
import { createKey, hashKey } from '../../core/keys/key.js';
import { writeVersions } from '../support/dataset-version.js';
import { request } from '../support/http-client.js';
import { leftBehind } from '../support/left-behind.js';
import { misplaceKeys } from '../support/misplaced-keys.js';
import { everyReplica, metricsPorts, untilKnown } from '../support/replica-state.js';
import { REPLICAS, type Replicas, startReplicas } from '../support/replicas.js';
import { findSecrets } from '../support/secret-forms.js';
import type { Server } from '../support/services.js';

describe('keys of every kind, sent to three replicas in every part of a request', () => {
  let service: Replicas;
  let versions: Awaited<ReturnType<typeof writeVersions>>;
  let metrics: readonly number[];

  before(async function () {
    this.timeout(60_000);
    versions = await writeVersions([1]);
    metrics = await metricsPorts(REPLICAS);
    service = await startReplicas({
      dataset: versions.directories[0] as string,
      env: { METRO__LOG__LEVEL: 'trace' },
      replicaEnv: (index) => ({ METRO__METRICS__PORT: String(metrics[index]) }),
    });
  });

  after(async () => {
    await service?.stop();
    await versions?.remove();
  });

  it('appear in no log, metric or response, no Redis key or value, no MongoDB document and no file', async function () {
    this.timeout(60_000);
    const [valid, revoked, limited] = await Promise.all([
      service.createKey(100_000),
      service.createKey(100_000),
      service.createKey(3),
    ]);
    for (const { key } of [valid, revoked, limited]) await untilKnown(service, key);
    await service.command('keys', 'revoke', revoked.id);
    await everyReplica(service, revoked.key, ({ status }) => status === 401);
    const { created } = JSON.parse(await service.command('keys', 'rotate', limited.id, '--overlap', '1h', '--json'));
    const secrets = {
      valid: valid.key,
      revoked: revoked.key,
      limited: limited.key,
      'created by a rotation': created.key as string,
      unknown: createKey().key,
      mistyped: `${valid.key.slice(0, -1)}${valid.key.endsWith('0') ? '1' : '0'}`,
      'too long': `${createKey().key}${createKey().key.slice(4)}`,
    };
    let answers = '';
    // nginx distributes requests and rejects some of them, so one replica is also called directly.
    for (const url of [service.url, (service.replicas[0] as Server).url]) {
      answers += await misplaceKeys(url, Object.values(secrets), valid.key);
    }
    const scraped = await Promise.all(
      metrics.map(async (port) => (await request(`http://127.0.0.1:${port}/metrics`)).text),
    );
    // The replicas write their buffered log lines when they stop, so they stop before the search.
    await Promise.all(service.replicas.map((replica) => replica.kill('SIGINT')));

    const places = [...(await leftBehind(service, scraped)), { name: 'the responses', text: answers }];
    assert.deepEqual(findSecrets(places, secrets), []);

    // Ids and hashes of keys must be found, which proves that the search covers the right places.
    const all = (name: RegExp) =>
      places
        .filter((place) => name.test(place.name))
        .map(({ text }) => text)
        .join('\n');
    assert.include(all(/^Redis/), `"key:${valid.id}"`);
    assert.include(all(/^MongoDB, dataset.api_keys, of keys/), hashKey(valid.key));
    assert.include(all(/^MongoDB, dataset.api_keys, of keys/), revoked.id);
    assert.include(all(/replica.*stderr$/), `"key":"${valid.id}"`);
    assert.include(all(/metrics/), 'authentications_total{result="invalid"}');
    assert.include(answers, 'rate_limited');
  });
});
