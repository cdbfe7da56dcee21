import { expect } from 'chai';
import { partOf } from '../../../../core/app/create-app.js';
import type { Document } from '../../../../core/contracts/dataset.js';
import { collections, manifest } from '../../../support/fixture.js';
import { memoryDataset } from '../../../support/memory-dataset.js';
import { otherAdapters, publishTo } from '../../../support/other-adapters.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

type Collections = Readonly<Record<string, readonly Document[]>>;

const first = collections as unknown as Collections;

/** The second version adds one value, removes one and revises two. It also has a new market and a completed run. */
const second: Collections = {
  ...first,
  markets: [...first['markets']!, { ...first['markets']![0], id: 9, cbsa: '99990', name: 'New Town, TX' }],
  hpi: [
    ...first['hpi']!.slice(1).map((row) => (row['period_start'] === '2025-04-01' ? { ...row, value: 203 } : row)),
    { cbsa: '99990', period_start: '2025-10-01', value: 100 },
  ],
  observations: first['observations']!.map((row, i) => (i === 2 ? { ...row, value: 4.6 } : row)),
  forecast_runs: first['forecast_runs']!.map((run) => ({ ...run, status: 'completed' })),
};

const PUBLISHED = ['2026-03-10T08:00:00Z', '2026-03-20T23:59:59.999Z', '2026-04-01T00:00:00Z'] as const;

const datasetOf = (number: number, content: Collections) =>
  memoryDataset(
    { ...manifest, version: `v${number}`, created: PUBLISHED[number - 1]!, vintage: `2026-0${number}-01` },
    content,
  );

const CHANGES = { markets: 1, values_added: 1, values_revised: 2, values_removed: 1, runs_added: 2 };
const BACK = { markets: 1, values_added: 1, values_revised: 2, values_removed: 1, runs_added: 0 };

for (const [name, section] of Object.entries(otherAdapters)) {
  describe(`GET /vintages on ${name}`, function () {
    this.timeout(60_000);
    let service: TestApp;
    before(async () => {
      service = await startTestApp({ config: { adapter: await section() } });
    });
    after(() => service?.close());

    const row = (number: number, current: boolean, changes: object | null) => ({
      version: `v${number}`,
      vintage: `2026-0${number}-01`,
      data_through: '2025-10-01',
      published_at: PUBLISHED[number - 1],
      current,
      changes,
    });

    it('is a 503 or an empty list before the first publication', async () => {
      const { status, json } = await service.get('/vintages');
      expect(status === 503 || json.data.length === 0).to.equal(true);
    });

    it('lists publications with their changes, newest first', async () => {
      await publishTo(service, datasetOf(1, first));
      const alone = await service.get('/vintages');
      expect(alone.json).to.deep.equal({ data: [row(1, true, null)] });
      // HTTP dates have a resolution of one second, so the test waits for the next second.
      await new Promise((next) => setTimeout(next, 1000 - (Date.now() % 1000)));
      await publishTo(service, datasetOf(2, second));
      const known = { headers: { 'If-Modified-Since': alone.headers['last-modified']! } };
      expect((await service.get('/vintages', known)).json).to.deep.equal({
        data: [row(2, true, CHANGES), row(1, false, null)],
      });
      await publishTo(service, datasetOf(3, first));
      const { json } = await service.get('/vintages');
      expect(json).to.deep.equal({ data: [row(3, true, BACK), row(2, false, CHANGES), row(1, false, null)] });
    });

    it('responds with 304 to the current ETag', async () => {
      const { headers } = await service.get('/vintages');
      expect((await service.get('/vintages', { headers: { 'If-None-Match': headers.etag! } })).status).to.equal(304);
    });

    it('has dates that as_of accepts', async () => {
      const { json } = await service.get('/vintages');
      for (const { version, published_at } of json.data) {
        const { headers } = await service.get(`/markets?as_of=${published_at.slice(0, 10)}`);
        expect(headers['snapshot-version']).to.equal(version);
      }
    });

    it('shows activations and pruning', async () => {
      const { versions } = partOf(service.app, 'adapter');
      await versions!.activate('v2');
      const moved = (await service.get('/vintages')).json.data;
      expect(moved.map(({ current }: { current: boolean }) => current)).to.deep.equal([false, true, false]);
      const deleted = await versions!.prune(2);
      expect(deleted).to.deep.equal(['v1']);
      const { json } = await service.get('/vintages');
      expect(
        json.data.map(({ version, changes }: { version: string; changes: object }) => [version, changes]),
      ).to.deep.equal([
        ['v3', BACK],
        ['v2', null],
      ]);
    });
  });
}

describe('GET /vintages while another version is published', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp({ config: { adapter: await otherAdapters['memory']!() } });
  });
  after(() => service.close());

  const listed = async () =>
    (await service.get('/vintages')).json.data.map(({ version }: { version: string }) => version);

  it('lists the version that was current when the store listed its versions', async () => {
    await publishTo(service, datasetOf(1, first));
    const { versions } = partOf(service.app, 'adapter');
    const { list } = versions!;
    Object.assign(versions!, {
      list: async () => {
        const found = await list();
        Object.assign(versions!, { list });
        await publishTo(service, datasetOf(2, second));
        return found;
      },
    });
    expect(await listed()).to.deep.equal(['v1']);
  });

  it('lists a version as soon as this replica can read it', async () => {
    const { versions } = partOf(service.app, 'adapter');
    const { asOf } = versions!;
    Object.assign(versions!, { asOf: async () => undefined });
    expect(await listed()).to.deep.equal(['v1']);
    Object.assign(versions!, { asOf });
    expect(await listed()).to.deep.equal(['v2', 'v1']);
  });
});

describe('GET /vintages on json, which keeps no earlier versions', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  it('lists the current version', async () => {
    const { json } = await service.get('/vintages');
    const { version, created, vintage } = manifest;
    expect(json).to.deep.equal({
      data: [{ version, vintage, data_through: '2025-10-01', published_at: created, current: true, changes: null }],
    });
  });

  it('GET /vintages?limit=5 is a 400, and a request without a key a 401', async () => {
    expect((await service.get('/vintages?limit=5')).json.code).to.equal('unknown_parameter');
    expect((await service.get('/vintages', { headers: { Authorization: '' } })).status).to.equal(401);
  });
});
