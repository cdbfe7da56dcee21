import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { type CryptoKey, exportJWK, type GenerateKeyPairResult, generateKeyPair, SignJWT } from 'jose';
import readExcelFile from 'read-excel-file/node';
import { WebSocket } from 'ws';
import { definePlugin, type Plugin, serviceRoute } from '../../core/contracts/plugin.js';
import { packageRoot } from '../../core/util/package.js';
import { snippetsOf } from '../support/snippets.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const PAGE = 'docs/guides/plugins.md';
const PACKAGES = ['jose', 'write-excel-file', 'ws'];

const failing = definePlugin({
  name: 'failing',
  version: '1.0.0',
  description: 'Fails.',
  routes: () => [
    serviceRoute({
      path: '/failing',
      operationId: 'fail',
      summary: 'Fails',
      response: { description: 'Nothing.', schema: { type: 'object' }, example: {} },
      handler: async () => {
        throw new Error('unexpected');
      },
    }),
  ],
});

describe(PAGE, () => {
  let folder: string;
  const open: TestApp[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-page-'));
    await mkdir(join(folder, 'node_modules'));
    await symlink(packageRoot, join(folder, 'node_modules/metro-forecast-api'), 'dir');
    for (const name of PACKAGES) {
      await symlink(join(packageRoot, 'node_modules', name), join(folder, 'node_modules', name), 'dir');
    }
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    for (const { language, info, code } of snippetsOf(PAGE)) {
      if (language === 'js' && info.endsWith('.js')) await writeFile(join(folder, info), code);
    }
  });
  afterEach(async () => {
    for (const service of open.splice(0)) await service.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const load = async (name: string): Promise<Plugin> =>
    ((await import(pathToFileURL(join(folder, name)).href)) as { readonly default: Plugin }).default;
  const start = async (options: Parameters<typeof startTestApp>[0]): Promise<TestApp> => {
    const service = await startTestApp(options);
    open.push(service);
    return service;
  };

  it('xlsx.js serves lists as Excel workbooks', async () => {
    const { get } = await start({ overrides: { plugins: [{ plugin: await load('xlsx.js') }] } });
    const [json, workbook] = await Promise.all([get('/markets'), get('/markets?format=xlsx')]);
    expect(workbook.headers['content-type']).to.contain('spreadsheetml');
    const [{ data: sheet } = { data: [] }] = await readExcelFile(workbook.bytes);
    const [names, ...rows] = sheet as unknown[][];
    const data = json.json.data as readonly Record<string, unknown>[];
    expect(names).to.deep.equal(Object.keys(data[0]!));
    const at = names!.indexOf('cbsa');
    expect(rows.map((row) => row[at])).to.deep.equal(data.map(({ cbsa }) => cbsa));
  });

  describe('jwt.js', () => {
    const ISSUER = 'https://login.example.com';
    let provider: Server;
    let keys: string;
    let own: GenerateKeyPairResult;
    before(async () => {
      own = await generateKeyPair('RS256');
      const jwk = { ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'RS256' };
      provider = createServer((_request, response) => response.end(JSON.stringify({ keys: [jwk] })));
      provider.listen(0, '127.0.0.1');
      await once(provider, 'listening');
      keys = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks.json`;
    });
    after(() => provider.close());

    const token = (change: { readonly issuer?: string; readonly expires?: string; readonly key?: CryptoKey } = {}) =>
      new SignJWT({ tier: 'enterprise' })
        .setProtectedHeader({ alg: 'RS256', kid: 'own' })
        .setSubject('alice')
        .setAudience('forecasts')
        .setIssuer(change.issuer ?? ISSUER)
        .setExpirationTime(change.expires ?? '5 minutes')
        .sign(change.key ?? own.privateKey);
    const serve = async (address = keys) => {
      const options = { keys: address, issuer: ISSUER, audience: 'forecasts' };
      const { get } = await start({ overrides: { plugins: [{ plugin: await load('jwt.js'), options }] } });
      return async (sent: string) => {
        const { status, json } = await get('/markets', { headers: { Authorization: `Bearer ${sent}` } });
        return [status, json.code];
      };
    };

    it('accepts only valid tokens', async () => {
      const ask = await serve();
      const { privateKey: other } = await generateKeyPair('RS256');
      expect(await ask(await token())).to.deep.equal([200, undefined]);
      const unsigned = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"alice"}')}.x`;
      for (const wrong of [
        await token({ issuer: 'https://other.example.com' }),
        await token({ expires: '-1 minute' }),
        await token({ key: other }),
        `${await token()}x`,
        unsigned,
      ]) {
        expect(await ask(wrong)).to.deep.equal([401, 'invalid_api_key']);
      }
    });

    it('responds with 503 while the key set cannot be read', async () => {
      const ask = await serve(keys.replace(/:\d+/, ':1'));
      expect(await ask(await token())).to.deep.equal([503, 'service_unavailable']);
    });
  });

  it('error-reports.js reports server errors, but not client errors', async () => {
    const reports: { readonly message: string; readonly path: string; readonly requestId: string }[] = [];
    const receiver = createServer(async (request, response) => {
      reports.push(JSON.parse(await text(request)));
      response.end();
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    try {
      const options = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` };
      const plugins = [{ plugin: failing }, { plugin: await load('error-reports.js'), options }];
      const { get, app } = await start({ overrides: { plugins } });
      const { status, headers } = await get('/failing');
      await get('/nowhere');
      await app.close();
      expect(status).to.equal(500);
      expect(reports.map(({ message, path, requestId }) => ({ message, path, requestId }))).to.deep.equal([
        { message: 'unexpected', path: '/api/v1/failing', requestId: headers['x-request-id'] },
      ]);
    } finally {
      receiver.close();
    }
  });

  it('echo.js echoes messages from clients with a key', async () => {
    const { origin, key, app } = await start({ overrides: { plugins: [{ plugin: await load('echo.js') }] } });
    const address = `${origin.replace('http', 'ws')}/echo`;
    const client = new WebSocket(address, { headers: { Authorization: `Bearer ${key}` } });
    await once(client, 'open');
    client.send('hello');
    expect(String((await once(client, 'message'))[0])).to.equal('hello');
    const [, response] = await once(new WebSocket(address), 'unexpected-response');
    expect((response as IncomingMessage).statusCode).to.equal(401);
    expect((await fetch(`${origin}/echo`, { headers: { Authorization: `Bearer ${key}` } })).status).to.equal(426);
    const closed = once(client, 'close');
    await app.close();
    await closed;
  });
});
