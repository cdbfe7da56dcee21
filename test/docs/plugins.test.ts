/** Tests that the plugins in docs/guides/plugins.md run as they are documented. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import readExcelFile from 'read-excel-file/node';
import type { Plugin } from '../../core/contracts/plugin.js';
import { packageRoot } from '../../core/util/package.js';
import { snippetsOf } from '../support/snippets.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const PAGE = 'docs/guides/plugins.md';
/** The packages that the plugins import. */
const PACKAGES = ['write-excel-file'];

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
});
