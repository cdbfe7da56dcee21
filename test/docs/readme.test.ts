import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { App } from '../../core/app/app-types.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { packageRoot } from '../../core/util/package.js';
import { createApp, loadConfig } from '../../product.js';
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

  it('shows a curl command with its actual response', async () => {
    const { url, key } = await serve({ adapter: sample, plugins: ['markets'] });
    const line = snippet('sh', 'curl -H').replace('http://127.0.0.1:8080/api/v1', url);
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line.trim()} --silent`], {
      env: { ...process.env, API_KEY: key },
    });
    expect(stdout).to.equal(snippet('json', '"cbsa":"26420"').trim());
  });

  it('lists endpoints that exist', async () => {
    const plugins = ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status'];
    const { get } = await serve({ adapter: sample, plugins });
    const rows = [...text.matchAll(/^\| (`\/.*?) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\/[^`?]*)/g)]);
    const documented = rows.map(([, path]) => path);
    expect(documented).to.include('/markets/{cbsa}/forecast-track');
    expect(Object.keys((await get('/openapi.json')).json.paths)).to.include.members(documented);
  });

  it('lists every folder', () => {
    const ignored = new Set(['node_modules', 'dist']);
    const folders = readdirSync(packageRoot, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !ignored.has(entry.name))
      .map(({ name }) => name);
    const mapped = [...text.matchAll(/^\| `(\w+)\/` \|/gm)].map(([, name]) => name);
    expect(mapped).to.have.members(folders);
  });
});
