import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { nginx } from '../../support/binaries.js';
import { BROWSED, openBrowser, type TestBrowser } from '../../support/browser.js';
import { request } from '../../support/http-client.js';
import { type Server, startServer } from '../../support/server-process.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'explore'];

const start = (server: object): Promise<TestApp> =>
  startTestApp({ config: { plugins: PLUGINS, server: { ...BROWSED, ...server } } });

const startProxy = async (origin: string): Promise<Server> =>
  startServer({
    name: 'nginx',
    program: await nginx(),
    args: (port, folder) => {
      const file = join(folder, 'nginx.conf');
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        file,
        `pid ${folder}/pid; events {} http { access_log off; client_body_temp_path ${folder}/body;
          proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
          server { listen 127.0.0.1:${port};
            location /lib/ { proxy_pass ${origin}/; proxy_set_header Host $host:$server_port; proxy_set_header X-Forwarded-Prefix /lib; }
          } }`,
      );
      return ['-p', folder, '-e', 'stderr', '-c', file, '-g', 'daemon off; master_process off;'];
    },
    url: (port) => `http://127.0.0.1:${port}`,
    ready: async (port) => void (await request(`http://127.0.0.1:${port}/`)),
  });

describe('a service under a path of nginx', function () {
  this.timeout(60_000);
  let service: TestApp;
  let proxy: Server;
  let browser: TestBrowser;

  before(async function () {
    service = await start({ trustProxy: 1 });
    proxy = await startProxy(service.origin);
    browser = await openBrowser(this, { origin: proxy.url });
  });
  after(async () => {
    await browser?.close();
    await proxy?.stop();
    await service?.close();
  });

  it('shows the reference, which calls the API under the path and links to the other pages', async () => {
    const { page, complaints } = browser;
    await page.goto(`${proxy.url}/lib/docs`);
    await page.getByRole('heading', { level: 1, name: 'Metro Forecast API' }).waitFor();
    await page.evaluate(`sessionStorage.setItem('metro-forecast-key', '${service.key}')`);
    expect(await page.locator('main').innerText()).to.include(`${proxy.url}/lib/api/v1`);
    await page.getByRole('link', { name: 'Explorer' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'metros' }).waitFor();
    expect(page.url()).to.include(`${proxy.url}/lib/explore`);
    await page.goto(`${proxy.url}/lib/`);
    await page.getByRole('link', { name: 'Calling the API' }).click();
    await page.getByText(`${proxy.url}/lib/api/v1`).first().waitFor();
    expect(complaints).to.deep.equal([]);
  });

  it('includes the path in the OpenAPI document and in every link of the front page', async () => {
    const document = (await request(`${proxy.url}/lib/api/v1/openapi.json`)).json;
    expect(document.servers[0].url).to.equal('/lib/api/v1');
    const { links } = (await request(`${proxy.url}/lib/`)).json;
    expect(links).to.have.length.above(6);
    for (const { href } of links) {
      expect(href).to.match(/^\/lib\//);
      expect((await request(`${proxy.url}${href}`)).status, href).to.equal(200);
    }
    const own = (await request(`${service.url}/openapi.json`)).json;
    expect(own.servers[0].url).to.equal('/api/v1');
  });

  for (const prefix of ['//evil.example', '/..', '/a/./b', '/"><b>', 'lib', '/a b', '/lib, /other']) {
    it(`ignores the path ${prefix}`, async () => {
      const headers = { 'X-Forwarded-Prefix': prefix };
      expect((await request(`${service.url}/openapi.json`, { headers })).json.servers[0].url).to.equal('/api/v1');
      expect((await request(`${service.origin}/docs`, { headers })).text).to.include('content="/api/v1"');
    });
  }
});

describe('server.publicUrl', () => {
  it('is in the links of pages, in the OpenAPI document and in its list of pages, whatever a proxy reports', async () => {
    const service = await start({ trustProxy: 1, publicUrl: 'https://example.com/data/' });
    try {
      const headers = { 'X-Forwarded-Prefix': '/lib' };
      const document = (await request(`${service.url}/openapi.json`, { headers })).json;
      expect(document.servers[0].url).to.equal('https://example.com/data/api/v1');
      const { text } = await request(`${service.origin}/docs`, { headers });
      expect(text).to.include('content="/data/api/v1"').and.include('href="/data/explore"').and.not.include('"/docs');
      expect((await request(`${service.origin}/`, { headers })).json.links[0].href).to.equal('/data/docs');
      const printed = (await request(`${service.origin}/`, { headers: { Accept: 'text/html' } })).text;
      expect(printed).to.contain('<p class="on-paper">https://example.com/data/</p>');
    } finally {
      await service.close();
    }
  });

  it('is absent: a path from an untrusted proxy is ignored', async () => {
    for (const trustProxy of [0, ['192.0.2.0/24']]) {
      const service = await start({ trustProxy });
      try {
        const { json } = await request(`${service.url}/openapi.json`, { headers: { 'X-Forwarded-Prefix': '/lib' } });
        expect(json.servers[0].url).to.equal('/api/v1');
      } finally {
        await service.close();
      }
    }
  });

  for (const publicUrl of ['example.com', 'ftp://example.com', 'https://example.com/a?b', 'https://example.com/a b']) {
    it(`rejects ${publicUrl}`, async () => {
      const error = await start({ publicUrl }).then(
        (started) => started.close(),
        (found: Error) => found,
      );
      expect(String((error as Error)?.message)).to.include('server.publicUrl');
    });
  }
});
