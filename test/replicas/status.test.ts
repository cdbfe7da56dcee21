import { assert } from 'chai';
import { MongoClient } from 'mongodb';
import { writeVersions } from '../support/dataset-version.js';
import { LoadClient, sendAll } from '../support/load-client.js';
import { untilKnown } from '../support/replica-state.js';
import { type Replicas, startReplicas } from '../support/replicas.js';

describe('GET /status with three replicas', () => {
  let service: Replicas;
  let mongo: MongoClient;
  let versions: Awaited<ReturnType<typeof writeVersions>>;

  before(async function () {
    this.timeout(60_000);
    versions = await writeVersions([1]);
    service = await startReplicas({ dataset: versions.directories[0] as string });
    mongo = new MongoClient(service.mongo.url);
  });

  after(async () => {
    await mongo?.close();
    await service?.stop();
    await versions?.remove();
  });

  it('is built once for 500 concurrent requests', async function () {
    this.timeout(60_000);
    const { key } = await service.createKey(100_000);
    await untilKnown(service, key);
    // MongoDB's profiler records every query. All requests together must read the runs only once.
    const db = mongo.db('dataset');
    await db.command({ profile: 2 });
    const client = new LoadClient(service.url, key, 500);
    const answers = await sendAll(client, new Array<string>(500).fill('/status'), 500);
    client.close();
    await db.command({ profile: 0 });
    const builds = await db.collection('system.profile').countDocuments({ op: 'query', ns: /forecast_runs/ });
    assert.equal(builds, 1);
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
    const processes = new Set(answers.map(({ headers }) => String(headers['x-request-id']).split('-')[0]));
    assert.equal(processes.size, service.replicas.length);
  });
});
