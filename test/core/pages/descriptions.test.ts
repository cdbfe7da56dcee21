import { expect } from 'chai';
import { start } from '../../plugins/tables/readings.js';
import { request } from '../../support/http-client.js';
import { startTableService } from '../../support/table-service.js';
import type { TestApp } from '../../support/test-app.js';
import { startPublic } from './public-service.js';

describe('descriptions of the Metro Forecast API', () => {
  let service: TestApp;
  const json = async (path: string) => (await request(`${service.origin}${path}`)).json;

  before(async () => {
    service = await startPublic({ service: { license: { name: 'CC BY 4.0', identifier: 'CC-BY-4.0' } } });
  });
  after(() => service?.close());

  it('have the columns with types, and the addresses of all formats', async () => {
    const { resources, licenses } = await json('/datapackage.json');
    const markets = resources.find(({ name }: { name: string }) => name === 'markets');
    expect(licenses[0].name).to.equal('CC-BY-4.0');
    expect(markets).to.deep.include({ path: `${service.origin}/api/v1/markets?format=csv`, mediatype: 'text/csv' });
    expect(markets.schema.primaryKey).to.deep.equal(['cbsa']);
    const forecast = markets.schema.fields.find(({ name }: { name: string }) => name === 'forecast_12m');
    expect(forecast).to.deep.include({ type: 'number', unit: 'percent' });
    const { 'dcat:dataset': datasets } = await json('/dcat.jsonld');
    const formats = datasets[0]['dcat:distribution'].map(({ 'dcterms:title': title }: Record<string, string>) => title);
    expect(formats).to.deep.equal(['CSV', 'JSON', 'NDJSON', 'PARQUET']);
  });

  it('are part of the front page, as JSON-LD', async () => {
    const { text } = await request(`${service.origin}/`, { headers: { Accept: 'text/html' } });
    const [, data = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(text) ?? [];
    const whole = await json('/dataset.jsonld');
    expect(JSON.parse(data)).to.deep.include({ '@type': 'sc:Dataset', name: whole.name, isAccessibleForFree: true });
  });

  it('include a sitemap, the rules for crawlers and a text for language models', async () => {
    const sitemap = await request(`${service.origin}/sitemap.xml`);
    expect(sitemap.text).to.contain(`<loc>${service.origin}/explore</loc>`).and.not.contain('sign-in');
    const robots = await request(`${service.origin}/robots.txt`);
    expect(robots.text).to.contain(`Sitemap: ${service.origin}/sitemap.xml`).and.contain('Disallow: /api/v1/');
    const { text } = await request(`${service.origin}/llms.txt`);
    expect(text).to.match(/^# Metro Forecast API\n\n> /);
    expect(text).to.contain(`- [/markets](${service.origin}/api/v1/markets): `);
  });

  it('keep their ETag', async () => {
    for (const path of ['/dataset.jsonld', '/datapackage.json', '/dcat.jsonld', '/llms.txt', '/robots.txt']) {
      const { headers } = await request(`${service.origin}${path}`);
      const again = await request(`${service.origin}${path}`, {
        headers: { 'If-None-Match': String(headers['etag']) },
      });
      expect(again.status, path).to.equal(304);
    }
  });
});

describe('descriptions of imported tables', () => {
  it('describe a table whose columns are named like query parameters', async () => {
    const service = await start();
    try {
      const { text, json } = await request(`${service.origin}/datapackage.json`);
      const tricky = json.resources?.find(({ name }: { name: string }) => name === 'tricky');
      expect(tricky?.path, text).to.match(/\/api\/v1\/tricky\?format=csv$/);
    } finally {
      await service.close();
    }
  });

  it('describe the tables, without a word about metros', async () => {
    const service = await startTableService({ anonymous: true });
    try {
      for (const path of ['/dataset.jsonld', '/datapackage.json', '/dcat.jsonld', '/llms.txt']) {
        const { text, status } = await request(`${service.origin}${path}`);
        expect(status, path).to.equal(200);
        expect(text, path)
          .to.contain('weather')
          .and.not.match(/metro|house price|cbsa/i);
      }
      expect((await request(`${service.origin}/sitemap.xml`)).status).to.equal(404);
    } finally {
      await service.close();
    }
  });
});
