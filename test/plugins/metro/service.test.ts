/** With its plugins, and where the configuration does not say otherwise, a service is the Metro Forecast API. */
import { expect } from 'chai';
import { metroService } from '../../../plugins/metro/service.js';
import { createApp, loadConfig } from '../../../product.js';
import { request } from '../../support/http-client.js';
import { startTestApp } from '../../support/test-app.js';

const plugins = ['markets', 'forecasts', 'observations', 'signals', 'status'];

describe('the Metro Forecast API', () => {
  it('is named in its document and its realm without a setting', async () => {
    const service = await startTestApp({ config: { plugins: [...plugins, 'vintages'], auth: { keys: 'memory' } } });
    try {
      const { description, 'x-changes': changes, ...info } = (await service.get('/openapi.json')).json.info;
      expect(info).to.deep.equal({
        title: 'Metro Forecast API',
        version: '1.0.0',
        summary: 'House-price forecasts, signals, risk grades and index history for US metros.',
        license: { name: 'MIT', identifier: 'MIT' },
        contact: { name: 'The operator of this service' },
      });
      // Where all plugins are there, none of what has changed is left out, nor are its endpoints.
      expect(changes).to.deep.equal(metroService.changes);
      expect(description).to.be.a('string').and.not.equal('');
      const { headers } = await request(`${service.url}/markets`);
      expect(headers['www-authenticate']).to.equal('Bearer realm="Metro Forecast API"');
    } finally {
      await service.close();
    }
  });

  it('leaves what has changed in endpoints that it lacks out of its document', async () => {
    const service = await startTestApp({ config: { plugins: ['markets'], auth: { keys: 'memory' } } });
    try {
      const { paths, info } = (await service.get('/openapi.json')).json;
      const served = Object.values<{ get: { operationId: string } }>(paths).map(({ get }) => get.operationId);
      const named = info['x-changes'].flatMap(({ operations = [] }: { operations?: string[] }) => operations);
      expect(named).to.include.members(['listMarkets', 'listAreas', 'getMarketHistory']);
      expect(served).to.include.members(named);
      expect(info['x-changes'].map(({ summary }: { summary: string }) => summary)).to.not.include(
        'The backtest has `base_rate_up`, `declines` and `declines_called`.',
      );
    } finally {
      await service.close();
    }
  });

  it('has another title, and that in its realm, where the configuration says so', async () => {
    const settings = { title: 'Our forecasts', termsOfService: 'https://example.com/terms' };
    const service = await startTestApp({ config: { plugins, service: settings, auth: { keys: 'memory' } } });
    try {
      const { info } = (await service.get('/openapi.json')).json;
      expect(info).to.include({ ...settings, version: '1.0.0' });
      expect(info.summary).to.match(/^House-price forecasts/);
      const { headers } = await request(`${service.url}/markets`);
      expect(headers['www-authenticate']).to.equal('Bearer realm="Our forecasts"');
    } finally {
      await service.close();
    }
  });

  it('has the realm API where its title cannot stand in a header', async () => {
    const service = await startTestApp({ config: { service: { title: 'Häuser' }, plugins, auth: { keys: 'memory' } } });
    try {
      expect((await request(`${service.url}/markets`)).headers['www-authenticate']).to.equal('Bearer realm="API"');
    } finally {
      await service.close();
    }
  });

  it('is made by the embedded configuration, with keys that begin with mfk_', async () => {
    const app = await createApp(await loadConfig({ env: {} }));
    try {
      expect(app.local.info).to.include({ name: 'metro-forecast', keyPrefix: 'mfk_' });
    } finally {
      await app.close();
    }
  });
});
