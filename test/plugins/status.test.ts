import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { partOf } from '../../core/app/create-app.js';
import { definePlugin } from '../../core/contracts/plugin.js';
import { StorageError } from '../../core/errors.js';
import { packageRoot } from '../../core/util/package.js';
import * as fixture from '../support/fixture.js';
import { request } from '../support/http-client.js';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.js';
import { until } from '../support/until.js';

describe('plugin status', () => {
  /** 60 days after the end of the newest quarter in the fixture. */
  const now = Date.parse('2026-03-01T00:00:00Z');
  let service: TestApp;
  const at = (time: number, synthetic = true) =>
    startTestApp({
      manifest: { ...fixture.manifest, synthetic },
      overrides: { clock: { now: () => time, monotonic: () => time } },
    });

  before(async () => {
    service = await at(now);
  });
  after(() => service.close());

  it('GET /status needs no key and names components, sources and the synthetic snapshot', async () => {
    const { status, json } = await request(`${service.url}/status`);
    expect(status).to.equal(200);
    expect(json).to.deep.equal({
      // The newest finished run succeeded, and no source is late or stale.
      status: 'operational',
      generated_at: '2026-03-01T00:00:00Z',
      snapshot: { version: 'fixture-1', published_at: '2026-03-02T12:00:00Z', synthetic: true },
      components: [
        { id: 'api', status: 'operational', message: null, updated_at: '2026-03-01T00:00:00Z' },
        { id: 'pipeline', status: 'operational', message: null, updated_at: '2026-03-02T12:00:00Z' },
        { id: 'model', status: 'operational', message: null, updated_at: '2026-03-01T00:00:00Z' },
      ],
      sources: [
        {
          id: 'hpi',
          cadence: 'quarterly',
          state: 'fresh',
          latest_period: '2025-10-01',
          last_loaded_at: '2026-03-01T00:00:00Z',
          age_seconds: 0,
          late_after_seconds: 100 * 86_400,
          stale_after_seconds: 200 * 86_400,
        },
        {
          id: 'unused',
          cadence: 'monthly',
          state: 'unknown',
          latest_period: null,
          last_loaded_at: null,
          age_seconds: null,
          late_after_seconds: 0,
          stale_after_seconds: 0,
        },
      ],
    });
  });

  it('GET /status can be cached by shared caches: public, with Age, and without data about the caller', async () => {
    const { headers } = await service.get('/status');
    expect(headers['cache-control']).to.equal('public, max-age=60');
    expect(headers['age']).to.equal('0');
    expect(headers).to.not.have.any.keys('ratelimit', 'ratelimit-policy', 'retry-after');
  });

  for (const [days, state] of [
    [99, 'fresh'],
    [100, 'late'],
    [199, 'late'],
    [200, 'stale'],
  ] as const) {
    it(`GET /status reports a source as ${state} ${days} days after its period's end`, async () => {
      const later = await at(Date.parse('2026-01-01T00:00:00Z') + days * 86_400_000, false);
      try {
        const { json } = await later.get('/status');
        expect(json.sources[0].state).to.equal(state);
        expect(json.status).to.equal(state === 'fresh' ? 'operational' : 'degraded');
      } finally {
        await later.close();
      }
    });
  }

  it('GET /status reports that the newest run failed', async () => {
    const failed = fixture.documents['forecast_runs']!.map((run) =>
      run['id'] === 6 ? { ...run, status: 'failed' } : run,
    );
    const collections = { ...fixture.documents, forecast_runs: failed };
    const impaired = await startTestApp({ collections, manifest: { ...fixture.manifest, synthetic: false } });
    try {
      const { json } = await impaired.get('/status');
      expect(json.components[2]).to.include({ status: 'degraded', updated_at: '2026-03-01T00:00:00Z' });
      expect(json.status).to.equal('degraded');
    } finally {
      await impaired.close();
    }
  });

  it('GET /status of the sample is operational, even years after its newest period', async () => {
    const sample = await startTestApp({
      config: { adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } } },
      overrides: { clock: { now: () => Date.parse('2036-01-01T00:00:00Z'), monotonic: () => 0 } },
    });
    try {
      const { json } = await sample.get('/status');
      expect([json.status, json.snapshot.synthetic]).to.deep.equal(['operational', true]);
      expect(json.sources.map(({ state }: { state: string }) => state)).to.not.include.oneOf(['late', 'stale']);
    } finally {
      await sample.close();
    }
  });

  it('GET /status reports a rejected dataset while the previous one is served', async () => {
    const spoiled = await startTestApp();
    try {
      await writeFile(join(spoiled.directory, 'manifest.json'), '{"format": 1, "version": ');
      const storage = partOf(spoiled.app, 'storageEvents');
      await new Promise((resolved) => storage.once('problem', resolved));
      const { json } = await spoiled.get('/status');
      expect(json.components[1].status).to.equal('degraded');
      expect(json.components[1].message).to.be.a('string').and.not.contain(spoiled.directory);
      expect((await spoiled.get('/markets')).status).to.equal(200);
    } finally {
      await spoiled.close();
    }
  });

  describe('without the components of another plugin', () => {
    const plain = (plugins: TestAppOptions['overrides'] = {}, sources = fixture.manifest.sources) =>
      startTestApp({
        manifest: { ...fixture.manifest, sources, synthetic: false },
        collections: {},
        config: { plugins: ['status'] },
        overrides: { clock: { now: () => now, monotonic: () => now }, ...plugins },
      });
    const componentsOf = async (impaired: TestApp) => {
      try {
        return (await impaired.get('/status')).json;
      } finally {
        await impaired.close();
      }
    };

    it('GET /status reports the API and the storage', async () => {
      const { status, components } = await componentsOf(await plain());
      expect(status).to.equal('operational');
      expect(components).to.deep.equal([
        { id: 'api', status: 'operational', message: null, updated_at: '2026-03-01T00:00:00Z' },
        { id: 'storage', status: 'operational', message: null, updated_at: '2026-03-02T12:00:00Z' },
      ]);
    });

    it('GET /status reports late sources', async () => {
      const late = fixture.manifest.sources.map((source) => ({ ...source, late_after_seconds: 1 }));
      const { status, components } = await componentsOf(await plain({}, late));
      expect(status).to.equal('degraded');
      expect(components[1]).to.include({
        status: 'degraded',
        message: '1 of 2 sources are behind their schedule.',
      });
    });

    it('GET /status is operational if no source has a schedule', async () => {
      expect(await componentsOf(await plain({}, []))).to.include({ status: 'operational' });
    });

    it('GET /status includes components of plugins, even if their check fails or never ends', async () => {
      const gauge = definePlugin({
        name: 'gauges',
        version: '1.0.0',
        description: 'Gauges.',
        components: [
          { id: 'gauges', check: () => ({ status: 'degraded', message: 'Two are silent.', updated_at: null }) },
          { id: 'radio', check: () => Promise.reject(new Error('secret.host refused')) },
          { id: 'relay', check: () => new Promise(() => undefined) },
        ],
        routes: () => [],
      });
      const impaired = await plain({ plugins: [{ plugin: gauge }] });
      const document = (await impaired.get('/openapi.json')).json;
      const { components } = await componentsOf(impaired);
      const ids = ['api', 'storage', 'gauges', 'radio', 'relay'];
      expect(components.map(({ id }: { id: string }) => id)).to.deep.equal(ids);
      expect(components.slice(2)).to.deep.equal([
        { id: 'gauges', status: 'degraded', message: 'Two are silent.', updated_at: null },
        { id: 'radio', status: 'unknown', message: 'This component cannot be checked right now.', updated_at: null },
        { id: 'relay', status: 'unknown', message: 'This component cannot be checked right now.', updated_at: null },
      ]);
      expect(document.components.schemas.Status.properties.components.items.properties.id.enum).to.deep.equal(ids);
    });
  });

  it('GET /health needs no key and is never limited', async () => {
    const strict = await startTestApp({ config: { limits: { requestsPerMinute: 1 } } });
    try {
      for (let count = 0; count < 5; count++) {
        const { status, json, headers } = await request(`${strict.url}/health`);
        expect([status, json]).to.deep.equal([200, { status: 'ok' }]);
        expect(headers).to.not.have.any.keys('ratelimit', 'ratelimit-policy');
      }
    } finally {
      await strict.close();
    }
  });

  it('GET /health is a 503 during a drain', async () => {
    const leaving = await startTestApp();
    try {
      leaving.app.drain();
      const { status, json, headers } = await request(`${leaving.url}/health`);
      expect([status, json.code]).to.deep.equal([503, 'service_unavailable']);
      expect(headers['retry-after']).to.match(/^\d+$/);
      expect(headers['connection']).to.equal('close');
    } finally {
      await leaving.close();
    }
  });

  it('GET /ready is a 200 while storage is unavailable, and a 503 during a drain', async () => {
    const unavailable = await startTestApp();
    try {
      partOf(unavailable.app, 'adapter').ping = () => Promise.reject(new StorageError('unavailable', 'gone'));
      const ready = await request(`${unavailable.url}/ready`);
      expect([ready.status, ready.json]).to.deep.equal([200, { status: 'ok' }]);
      unavailable.app.drain();
      expect((await request(`${unavailable.url}/ready`)).status).to.equal(503);
    } finally {
      await unavailable.close();
    }
  });

  it('GET /health is a 503 while storage is unavailable', async () => {
    const unavailable = await startTestApp();
    try {
      partOf(unavailable.app, 'adapter').ping = () => Promise.reject(new StorageError('unavailable', 'gone'));
      const { status, json } = await request(`${unavailable.url}/health`);
      expect([status, json.code]).to.deep.equal([503, 'service_unavailable']);
      expect(json.error).to.not.contain('gone');
    } finally {
      await unavailable.close();
    }
  });

  it('GET /health is a 503 while storage does not respond, and recovers', async () => {
    const slow = await startTestApp({ config: { http: { answerMs: 50 } } });
    try {
      const adapter = partOf(slow.app, 'adapter');
      const { ping } = adapter;
      const silent: (typeof ping)[] = [
        () => new Promise(() => undefined),
        (signal) =>
          new Promise((_, reject) =>
            signal!.addEventListener('abort', () => reject(new StorageError('aborted', 'The caller has aborted.'))),
          ),
      ];
      for (const each of silent) {
        adapter.ping = each;
        expect(await until(async () => (await request(`${slow.url}/health`)).status === 503)).to.equal(true);
        adapter.ping = ping;
        expect(await until(async () => (await request(`${slow.url}/health`)).status === 200)).to.equal(true);
      }
    } finally {
      await slow.close();
    }
  });

  it('keeps serving when the dataset directory is deleted', async () => {
    const deleted = await startTestApp();
    try {
      await rm(deleted.directory, { recursive: true });
      expect((await deleted.get('/markets')).status).to.equal(200);
    } finally {
      await deleted.close();
    }
  });
});
