import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register } from '../../../cli/commands/import-table.js';
import { createApp } from '../../../product.js';
import { pageModules } from '../../support/page-modules.js';
import { needPandas } from '../../support/pandas.js';
import { runCommand } from '../../support/run-command.js';

const { pythonSample, rSample } = await pageModules('core/pages/data-views/code-samples');

const CSV = `zip,code,name,size
01234,NA,"Peña ""the"" rock, Größe",1.5
00501,null,東京,
10001,N/A,NaN,3
`;
const TEXTS = ['zip', 'code', 'name'];

describe('the code samples of figures', () => {
  it('keep leading zeros, NA, quotes and names in any script in Python', async function () {
    this.timeout(120_000);
    const python = await needPandas(this);
    const folder = await mkdtemp(join(tmpdir(), 'code-samples-'));
    try {
      await writeFile(join(folder, 'places.csv'), CSV);
      const data = join(folder, 'data');
      const { error } = await runCommand(register, [
        ...['import-csv', join(folder, 'places.csv'), '--to', data, '--collection', 'places', '--key', 'zip'],
        ...TEXTS.flatMap((name) => ['--type', `${name}=text`]),
      ]);
      if (error) throw error;
      const app = await createApp({
        adapter: { use: 'json', options: { path: data } },
        plugins: [{ use: 'tables', options: { path: data } }],
        auth: { keys: 'memory', tiers: { public: {} }, anonymous: 'public' },
        log: { level: 'silent' },
        server: { port: 0 },
      });
      try {
        const { url } = await app.listen();
        const sample: string = pythonSample({ urls: [`${url}/places`], texts: TEXTS });
        const program = sample.replace(/print\((.*)\)$/, 'frame = $1\nprint(frame.to_json(orient="records"))');
        expect(JSON.parse(await python(program, ''))).to.deep.equal([
          { zip: '00501', code: 'null', name: '東京', size: null },
          { zip: '01234', code: 'NA', name: 'Peña "the" rock, Größe', size: 1.5 },
          { zip: '10001', code: 'N/A', name: 'NaN', size: 3 },
        ]);
      } finally {
        await app.close();
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('read text columns as text in R, and only empty cells as missing', () => {
    const lines: string[] = rSample({ urls: ['http://a/b'], texts: ['zip', 'code'], keyVariable: 'API_KEY' }).split(
      '\n',
    );
    expect(lines).to.include('  req_auth_bearer_token(Sys.getenv("API_KEY")) |>');
    expect(lines.at(-1)).to.equal(
      '  read.csv(colClasses = c("zip" = "character", "code" = "character"), na.strings = "")',
    );
  });
});
