import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import type { App } from '../../../core/app/app-types.js';
import { partOf } from '../../../core/app/create-app.js';
import { openDirectory } from '../../../core/data/directory.js';
import { writeDirectory } from '../../../core/data/write-directory.js';
import { OperatorError } from '../../../core/errors.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { packageRoot } from '../../../core/util/package.js';
import { createApp, loadConfig } from '../../../product.js';
import * as fixture from '../../support/fixture.js';
import { request } from '../../support/http-client.js';
import { mongoForTests, uniqueName } from '../../support/services.js';
import { addKey } from '../../support/test-app.js';

const PERMITS = [
  { cbsa: fixture.ATLANTA, month: '2025-11-01', units: 7 },
  { cbsa: fixture.HOUSTON, month: '2025-10-01', units: 10 },
  { cbsa: fixture.HOUSTON, month: '2025-11-01', units: 11 },
  { cbsa: fixture.HOUSTON, month: '2025-12-01', units: 12 },
];

describe('a third-party plugin', () => {
  let folder: string;
  const open: App[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'third-party-'));
    const modules = join(folder, 'node_modules');
    await mkdir(modules);
    await cp(join(packageRoot, 'test/packages/permits-plugin'), join(modules, 'metro-forecast-permits'), {
      recursive: true,
    });
    await symlink(packageRoot, join(modules, 'metro-forecast-api'), 'dir');
    const rows = { ...fixture.documents, permits: PERMITS };
    await writeDirectory(
      join(folder, 'dataset'),
      fixture.manifest,
      Object.fromEntries(Object.entries(rows).map(([name, documents]) => [name, [documents]])),
    );
  });
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const serve = async (adapter: object, permits: object | string) => {
    const path = join(folder, 'config.json');
    const config = { server: { port: 0 }, adapter, plugins: ['markets', permits], log: { level: 'silent' } };
    await writeFile(path, JSON.stringify(config));
    const keyStore = new MemoryKeyStore();
    const { key } = await addKey(keyStore);
    const app = await createApp(await loadConfig({ path, env: {} }), { keyStore });
    open.push(app);
    const { url } = await app.listen();
    return {
      app,
      get: (target: string) => request(`${url}${target}`, { headers: { Authorization: `Bearer ${key}` } }),
    };
  };

  const adapters: Readonly<Record<string, () => Promise<object>>> = {
    memory: async () => ({ use: 'memory', options: { path: 'dataset' } }),
    json: async () => ({ use: 'json', options: { path: 'dataset' } }),
    mongo: async () => ({
      use: 'mongo',
      options: { uri: (await mongoForTests()).url, database: uniqueName('permits') },
    }),
  };

  for (const [name, adapter] of Object.entries(adapters)) {
    it(`serves its collection on ${name}, with its own validation, errors, middleware and documentation`, async function () {
      this.timeout(60_000);
      const { app, get } = await serve(await adapter(), {
        use: 'metro-forecast-permits',
        options: { header: 'ours' },
      });
      if (name === 'mongo') {
        await partOf(app, 'adapter').publish!((await openDirectory(join(folder, 'dataset'))).dataset);
        for (let tries = 0; tries < 50 && (await get('/permits/12060')).status === 503; tries++) await setTimeout(50);
      }
      const { status, json, headers } = await get('/permits/26420?before=2025-11-01&limit=2');
      expect([status, json]).to.deep.equal([200, { data: [PERMITS[2], PERMITS[1]] }]);
      expect(headers).to.include({ 'x-group': 'ours', 'snapshot-version': 'fixture-1' });

      const csv = await get('/permits/26420?limit=1&format=csv');
      expect(csv.text).to.equal('cbsa,month,units\r\n26420,2025-12-01,12\r\n');

      const none = await get(`/permits/${fixture.TUCSON}`);
      expect([none.status, none.json.code]).to.deep.equal([404, 'permits_not_found']);
      for (const target of ['/permits/1', '/permits/26420?limit=13', '/permits/26420?before=soon']) {
        const refused = await get(target);
        expect([refused.status, refused.json.code], target).to.deep.equal([400, 'invalid_parameter']);
      }
      const document = (await get('/openapi.json')).json;
      const operation = document.paths['/permits/{cbsa}'].get;
      expect(operation.parameters.map((parameter: { name: string }) => parameter.name)).to.deep.equal([
        'cbsa',
        'before',
        'limit',
        'format',
      ]);
      expect(document.components.schemas).to.have.property('Permits');
      expect(Object.keys(operation.responses)).to.include('404');
    });
  }

  const errorOf = async (adapter: object, permits: object | string): Promise<string> => {
    try {
      await serve(adapter, permits);
    } catch (error) {
      expect(error).to.be.instanceOf(OperatorError);
      return (error as Error).message;
    }
    throw new Error('The service started.');
  };
  const json = { use: 'json', options: { path: 'dataset' } };

  it('can also be loaded by a relative path', async () => {
    const { get } = await serve(json, './node_modules/metro-forecast-permits/index.js');
    expect((await get('/permits/12060')).json.data).to.have.length(1);
  });

  it('fails to start with invalid options, and reports path and value', async () => {
    const error = await errorOf(json, { use: 'metro-forecast-permits', options: { heeder: 1 } });
    expect(error).to.contain('plugins[1].options.heeder').and.contain('header');
  });

  it('fails to start if it is not installed, and suggests the nearest built-in plugin', async () => {
    expect(await errorOf(json, 'signal'))
      .to.contain('plugin "signal"')
      .and.contain('did you mean "signals"?');
    for (const path of ['./nowhere.js', './node_modules/metro-forecast-permits/index.js/index.js'])
      expect(await errorOf(json, path))
        .to.contain(path)
        .and.contain('there is no file');
    expect(await errorOf(json, './')).to.contain('is a folder; name a file in it, such as index.js');
  });

  it('fails to start if it violates the contract, and reports the missing part', async () => {
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    await write('empty.mjs', 'export default {}');
    await write('nothing.mjs', 'export const plugin = 1');
    await write('broken.mjs', 'throw new Error("cannot")');
    await write('syntax.mjs', 'export default {');
    await write(
      'typo.mjs',
      'export default { kind: "plugin", name: "x", version: "1", description: "d", route: () => [] }',
    );
    expect(await errorOf(json, './empty.mjs'))
      .to.contain('"kind" must be "plugin"')
      .and.contain('"description" is missing');
    expect(await errorOf(json, './nothing.mjs')).to.contain('default export is not an object');
    expect(await errorOf(json, './broken.mjs'))
      .to.contain('./broken.mjs')
      .and.contain('cannot');
    expect(await errorOf(json, './syntax.mjs')).to.contain('./syntax.mjs');
    expect(await errorOf(json, './typo.mjs')).to.contain('"route" is not known; did you mean "routes"?');
  });

  it('fails to start if an adapter violates the contract', async () => {
    await writeFile(join(folder, 'adapter.mjs'), 'export default { kind: "adapter", name: "mine", version: "1" }');
    const error = await errorOf({ use: './adapter.mjs' }, 'signals');
    expect(error).to.contain('adapter "./adapter.mjs"').and.contain('"create" is missing').and.contain('"options"');
  });

  it('reports the errors of all modules together', async () => {
    const error = await errorOf({ use: './nowhere.js' }, './nothing-here.js');
    expect(error).to.contain('adapter: ').and.contain('plugins[1]: ');
  });

  it('fails to start if the dataset lacks its collection', async () => {
    await writeDirectory(
      join(folder, 'without'),
      fixture.manifest,
      Object.fromEntries(Object.entries(fixture.documents).map(([name, documents]) => [name, [documents]])),
    );
    await serve({ use: 'json', options: { path: 'without' } }, 'metro-forecast-permits').then(
      () => expect.fail('The service started.'),
      (error: Error) => expect(error.message).to.contain('permits'),
    );
  });
});
