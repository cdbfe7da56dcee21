/** What the README says is so: its snippets run, its tables are complete, its links lead somewhere. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { App } from '../../core/app/create-app.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { packageRoot } from '../../core/util/package.js';
import { createApp, loadConfig } from '../../product.js';
import { commandArgs } from '../support/command-process.js';
import * as fixture from '../support/fixture.js';
import { request } from '../support/http-client.js';
import { snippetsOf } from '../support/snippets.js';
import { addKey } from '../support/test-app.js';

const text = readFileSync(join(packageRoot, 'README.md'), 'utf8');
const snippets = snippetsOf('README.md');
const snippet = (language: string, containing: string): string => {
  const found = snippets.find((each) => each.language === language && each.code.includes(containing));
  if (!found) throw new Error(`The README has no ${language} block with ${containing}`);
  return found.code;
};

describe('README.md', () => {
  let folder: string;
  const open: App[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'readme-'));
    await mkdir(join(folder, 'node_modules'));
    await symlink(packageRoot, join(folder, 'node_modules/metro-forecast-api'), 'dir');
  });
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const serve = async (config: object, env: Readonly<Record<string, string>> = {}) => {
    const path = join(folder, 'config.json');
    await writeFile(path, JSON.stringify({ server: { port: 0 }, log: { level: 'silent' }, ...config }));
    const keyStore = new MemoryKeyStore();
    const { key } = await addKey(keyStore);
    const app = await createApp(await loadConfig({ path, env }), { keyStore });
    open.push(app);
    const { url } = await app.listen();
    return {
      url,
      key,
      get: (target: string) => request(`${url}${target}`, { headers: { Authorization: `Bearer ${key}` } }),
    };
  };
  const sample = { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } };

  it('shows a curl line with the answer that it gets', async () => {
    const { url, key } = await serve({ adapter: sample, plugins: ['markets'] });
    const line = snippet('sh', 'curl -H').replace('http://127.0.0.1:8080/api/v1', url);
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line.trim()} --silent`], {
      env: { ...process.env, KEY: key },
    });
    expect(stdout).to.equal(snippet('json', '"cbsa":"26420"').trim());
  });

  it('lists every endpoint, and none that is not', async () => {
    const plugins = ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status'];
    const { get } = await serve({ adapter: sample, plugins });
    const documented = [...text.matchAll(/^\| `(\/[^`?]*)/gm)].map(([, path]) => path);
    expect(documented).to.have.members(Object.keys((await get('/openapi.json')).json.paths));
  });

  it('imports, forecasts and validates files of the formats that it names, ending in a served Houston', async function () {
    this.timeout(60_000);
    const rows = Array.from({ length: 80 }, (_, i) => {
      const value = (100 * 1.01 ** i).toFixed(2);
      return `"Houston-Pasadena-The Woodlands, TX",26420,${2005 + Math.floor(i / 4)},${(i % 4) + 1},${value},( 2.62)`;
    });
    const newer = rows.pop()!;
    await writeFile(join(folder, 'hpi_at_metro.csv'), `${rows.join('\r\n')}\r\n`);
    await writeFile(join(folder, 'HSN1F.csv'), 'observation_date,HSN1F\n2024-10-01,627\n2024-11-01,674\n');
    const lines = snippet('sh', 'metro-forecast import').trim().split('\n');
    expect(lines).to.have.length(4);
    for (const line of lines.slice(0, 3)) {
      const args = line.replace('npx metro-forecast ', '').split(' ');
      await promisify(execFile)(process.execPath, commandArgs(args), { cwd: folder });
    }
    const [, variable, value] = /^(METRO__\w+)="(\S+)" npm start$/.exec(lines[3]!)!;
    const env = { [variable!]: value!.replace('$PWD', folder) };
    const app = await createApp(await loadConfig({ env: { ...env, PORT: '0', METRO__LOG__LEVEL: 'silent' } }), {
      keyStore: new MemoryKeyStore(),
    });
    open.push(app);
    const { status, body } = await app.local.request('/markets/26420');
    expect([status, JSON.parse(body).name]).to.deep.equal([200, 'Houston-Pasadena-The Woodlands, TX']);

    // A newer quarter, while requests go on: none of them sees a version without its forecasts.
    await writeFile(join(folder, 'hpi_at_metro.csv'), `${[...rows, newer].join('\r\n')}\r\n`);
    const seen = new Set<string>();
    let done = false;
    const watching = (async () => {
      while (!done) {
        seen.add((await app.local.request('/forecasts')).body);
        await new Promise((next) => setTimeout(next, 20));
      }
    })();
    const { code } = snippets.find((each) => each.language === 'sh' && each.code.includes('publish next'))!;
    const command = [process.execPath, ...commandArgs([])].join(' ');
    await promisify(execFile)(
      'sh',
      ['-ec', code.replaceAll('npx metro-forecast', command).replaceAll('$PWD', folder)],
      {
        cwd: folder,
      },
    );
    while (seen.size < 2) await new Promise((next) => setTimeout(next, 20));
    done = true;
    await watching;
    for (const body of seen) expect(body).to.contain('"26420"');
  });

  it('shows a configuration that loads', async () => {
    const path = join(folder, 'shown.json');
    await writeFile(path, snippet('json', '"adapter"'));
    const env = { MONGODB_URI: 'mongodb://127.0.0.1/', REDIS_URL: 'redis://127.0.0.1' };
    const { config } = await loadConfig({ path, env });
    expect(config.adapter.use).to.equal('mongo');
    expect(config.redis?.url).to.equal('redis://127.0.0.1');
  });

  it('shows commands that exist', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, commandArgs(['--help']));
    for (const [, command] of text.matchAll(/metro-forecast (\w+)/g))
      expect(stdout).to.match(new RegExp(`^  ${command}\\b`, 'm'));
  });

  it('shows a plugin that serves', async () => {
    await writeFile(join(folder, 'count.mjs'), snippet('js', 'definePlugin'));
    const { get } = await serve({ adapter: sample, plugins: ['markets', './count.mjs'] });
    expect((await get('/count')).json).to.deep.equal({ markets: 40 });
  });

  it('shows an adapter that serves', async () => {
    await writeFile(join(folder, 'remote.mjs'), snippet('js', "kind: 'adapter'"));
    const remote = createServer((_request, response) => {
      response.end(JSON.stringify({ manifest: fixture.manifest, rows: fixture.collections }));
    }).listen(0, '127.0.0.1');
    await new Promise((listening) => remote.once('listening', listening));
    try {
      const url = `http://127.0.0.1:${(remote.address() as AddressInfo).port}/`;
      const { get } = await serve({ adapter: { use: './remote.mjs', options: { url } }, plugins: ['markets'] });
      expect((await get('/markets/12060/history')).json.data).to.have.length(3);
    } finally {
      remote.close();
    }
  });

  it('maps the folders that there are', () => {
    const ignored = new Set(['node_modules', 'dist']);
    const folders = readdirSync(packageRoot, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !ignored.has(entry.name))
      .map(({ name }) => name);
    const mapped = [...text.matchAll(/^\| `(\w+)\/` \|/gm)].map(([, name]) => name);
    expect(mapped).to.have.members(folders);
  });

  it('links to files that exist, as every page does', () => {
    const pages = [
      'README.md',
      'CONTRIBUTING.md',
      'CHANGELOG.md',
      ...readdirSync(join(packageRoot, 'docs'))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`),
    ];
    const broken = pages.flatMap((page) =>
      [...readFileSync(join(packageRoot, page), 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
        .map(([, target]) => target!)
        .filter((target) => !/^https?:/.test(target) && !existsSync(join(packageRoot, page, '..', target)))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).to.deep.equal([]);
  });
});
