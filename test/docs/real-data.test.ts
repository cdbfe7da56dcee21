/** Runs the commands of docs/guides/real-data.md on files in FHFA's and FRED's formats. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { App } from '../../core/app/app-types.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { createApp, loadConfig } from '../../product.js';
import { commandArgs } from '../support/command-process.js';
import { snippetsOf } from '../support/snippets.js';

const run = promisify(execFile);
const PAGE = 'docs/guides/real-data.md';

const shellSnippet = (containing: string): string => {
  const found = snippetsOf(PAGE).find(({ language, code }) => language === 'sh' && code.includes(containing));
  if (!found) throw new Error(`${PAGE} has no shell block with ${containing}`);
  return found.code;
};

describe(PAGE, () => {
  let folder: string;
  let app: App | undefined;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'real-data-'));
  });
  after(async () => {
    await app?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('imports, forecasts, serves and updates FHFA and FRED files', async function () {
    this.timeout(60_000);
    const rows = Array.from({ length: 80 }, (_, i) => {
      const value = (100 * 1.01 ** i).toFixed(2);
      return `"Houston-Pasadena-The Woodlands, TX",26420,${2005 + Math.floor(i / 4)},${(i % 4) + 1},${value},( 2.62)`;
    });
    const newer = rows.pop()!;
    await writeFile(join(folder, 'hpi_at_metro.csv'), `${rows.join('\r\n')}\r\n`);
    await writeFile(join(folder, 'HSN1F.csv'), 'observation_date,HSN1F\n2024-10-01,627\n2024-11-01,674\n');
    const lines = shellSnippet('npm start').trim().split('\n');
    expect(lines).to.have.length(4);
    for (const line of lines.slice(0, 3)) {
      const args = line.replace('npx metro-forecast ', '').split(' ');
      await run(process.execPath, commandArgs(args), { cwd: folder });
    }
    const [, variable, value] = /^(METRO__\w+)="(\S+)" npm start$/.exec(lines[3]!)!;
    const env = { [variable!]: value!.replace('$PWD', folder) };
    app = await createApp(await loadConfig({ env: { ...env, PORT: '0', METRO__LOG__LEVEL: 'silent' } }), {
      keyStore: new MemoryKeyStore(),
    });
    const { local } = app;
    const { status, body } = await local.request('/markets/26420');
    expect([status, JSON.parse(body).name]).to.deep.equal([200, 'Houston-Pasadena-The Woodlands, TX']);

    // A newer quarter is published while requests are running. Every response must come from a version with forecasts.
    await writeFile(join(folder, 'hpi_at_metro.csv'), `${[...rows, newer].join('\r\n')}\r\n`);
    const seen = new Set<string>();
    let done = false;
    const watching = (async () => {
      while (!done) {
        seen.add((await local.request('/forecasts')).body);
        await new Promise((next) => setTimeout(next, 20));
      }
    })();
    const code = shellSnippet('publish next');
    const command = [process.execPath, ...commandArgs([])].join(' ');
    await run('sh', ['-ec', code.replaceAll('npx metro-forecast', command).replaceAll('$PWD', folder)], {
      cwd: folder,
    });
    while (seen.size < 2) await new Promise((next) => setTimeout(next, 20));
    done = true;
    await watching;
    for (const body of seen) expect(body).to.contain('"26420"');
  });
});
