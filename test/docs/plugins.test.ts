/** Tests that the plugins in docs/guides/plugins.md run as they are documented. */
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { type CryptoKey, exportJWK, type GenerateKeyPairResult, generateKeyPair, SignJWT } from 'jose';
import readExcelFile from 'read-excel-file/node';
import type { Plugin } from '../../core/contracts/plugin.js';
import { packageRoot } from '../../core/util/package.js';
import { snippetsOf } from '../support/snippets.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const PAGE = 'docs/guides/plugins.md';
/** The packages that the plugins import. */
const PACKAGES = ['jose', 'write-excel-file'];

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

    it('accepts valid tokens only', async () => {
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
});
