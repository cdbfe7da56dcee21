import { expect } from 'chai';
import { metroService } from '../../../plugins/metro/service.js';
import { createApp, loadConfig } from '../../../product.js';
import { request } from '../../support/http-client.js';
import { startTestApp } from '../../support/test-app.js';

const plugins = ['markets', 'forecasts', 'observations', 'signals', 'status'];

describe('the Metro Forecast API', () => {
  it('has its name in the document and the realm by default', async () => {
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
      expect(changes).to.deep.equal(metroService.changes);
      expect(description).to.be.a('string').and.not.equal('');
      const { headers } = await request(`${service.url}/markets`);
      expect(headers['www-authenticate']).to.equal('Bearer realm="Metro Forecast API"');
    } finally {
      await service.close();
    }
  });

  it('has no changes of endpoints that are not served', async () => {
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

  it('has the title of the configuration in the document and the realm', async () => {
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

  it('has the realm "API" if its title is not allowed in a header', async () => {
    const service = await startTestApp({ config: { service: { title: 'Häuser' }, plugins, auth: { keys: 'memory' } } });
    try {
      expect((await request(`${service.url}/markets`)).headers['www-authenticate']).to.equal('Bearer realm="API"');
    } finally {
      await service.close();
    }
  });

  it('equals the service of the embedded configuration, with keys that start with mfk_', async () => {
    const app = await createApp(await loadConfig({ env: {} }));
    try {
      expect(app.local.info).to.include({ name: 'metro-forecast', keyPrefix: 'mfk_' });
    } finally {
      await app.close();
    }
  });
});
