/**
 * Tests that the clients which openapi-typescript and openapi-python-client generate from the document can read
 * responses to requests with `fields`.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { cacheFolder } from '../../support/cache-folder.js';
import { needPythonPackage } from '../../support/python-package.js';
import { skip } from '../../support/skip.js';
import { startTableService } from '../../support/table-service.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const run = promisify(execFile);

const TYPESCRIPT = `
import type { paths } from './api.js';
type Query = NonNullable<paths['/markets']['get']['parameters']['query']>;
type Market = paths['/markets']['get']['responses'][200]['content']['application/json']['data'][number];
const fields: Query['fields'] = ['signal', 'yoy_price'];
// @ts-expect-error: no such column
const wrong: Query['fields'] = ['sgnal'];
const [url = '', key = ''] = process.argv.slice(2);
const answer = await fetch(\`\${url}/markets?fields=\${fields}\`, { headers: { Authorization: \`Bearer \${key}\` } });
const { data } = (await answer.json()) as { data: Market[] };
const { cbsa, name, signal, id } = data[0]!;
// @ts-expect-error: the response may lack it
const certain: number = id;
console.log(cbsa.length, name.length > 0, signal, id);
`;

const PYTHON = `
import sys
from client import AuthenticatedClient
from client.api.markets import get_market, list_markets
from client.models import ListMarketsFieldsItem, ListMarketsSignalItem
client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True)
rows = list_markets.sync(client=client, fields=[ListMarketsFieldsItem.SIGNAL]).data
whole = list_markets.sync(client=client, signal=[ListMarketsSignalItem.EXPAND]).data
one = get_market.sync("12060", client=client)
print(len(rows), rows[0].cbsa, hasattr(rows[0].id, "real"), len(whole), whole[0].signal.value, one.name)
`;

const BOOKS = `
import sys
from client import AuthenticatedClient
from client.api.tables import get_books, list_books
from client.models import ListBooksFieldsItem
client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True)
rows = list_books.sync(client=client, published=1815, fields=[ListBooksFieldsItem.AUTHOR]).data
print(len(rows), rows[0].isbn, rows[0].author, get_books.sync("9780141439587", client=client).title)
`;

describe('generated clients', function () {
  this.timeout(300_000);
  let service: TestApp;
  let folder: string;
  before(async () => {
    service = await startTestApp();
    folder = await mkdtemp(join(tmpdir(), 'generated-clients-'));
  });
  after(async () => {
    await service?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('openapi-typescript: values of fields are typed, and properties that fields removes are optional', async function () {
    const modules = join(cacheFolder, 'openapi-typescript-7');
    await mkdir(modules, { recursive: true });
    const install = [
      'install',
      '--silent',
      '--ignore-scripts',
      '--no-save',
      '--prefix',
      modules,
      'openapi-typescript@7',
    ];
    await run('npm', install).catch((error: Error) => skip(this, `there is no openapi-typescript: ${error.message}`));
    const generator = join(modules, 'node_modules/openapi-typescript/bin/cli.js');
    await run(process.execPath, [generator, `${service.url}/openapi.json`, '-o', join(folder, 'api.ts')]);
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'main.ts'), TYPESCRIPT);
    const require = createRequire(import.meta.url);
    const compiler = join(require.resolve('typescript/package.json'), '../bin/tsc');
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const types = ['--typeRoots', join(require.resolve('@types/node/package.json'), '../..')];
    const compiled = await run(process.execPath, [compiler, ...options, ...types, 'main.ts'], { cwd: folder }).catch(
      ({ stdout }) => ({ stdout }),
    );
    expect(compiled.stdout).to.equal('');
    const { stdout } = await run(process.execPath, [join(folder, 'main.js'), service.url, service.key]);
    expect(stdout).to.match(/^5 true \w+ undefined\n$/);
  });

  /** Generates a Python client, and runs a program that uses it. */
  const runPython = async (context: Mocha.Context, url: string, key: string, program: string) => {
    const python = await needPythonPackage(context, 'openapi-python-client');
    const target = await mkdtemp(join(folder, 'python-'));
    const at = join(target, 'client');
    const generate = ['generate', '--url', `${url}/openapi.json`, '--output-path', at, '--meta', 'none'];
    const warnings = await python(['-m', 'openapi_python_client', ...generate]);
    expect(warnings).to.not.match(/warning|error/i);
    await writeFile(join(target, 'program.py'), program);
    return python([join(target, 'program.py'), url, key]);
  };

  it('openapi-python-client: reads markets with fields, with filters and alone', async function () {
    const printed = await runPython(this, service.url, service.key, PYTHON);
    expect(printed).to.match(/^\d+ 12060 False \d+ expand Atlanta, GA\n$/);
  });

  it('openapi-python-client: reads rows of a table with a filter and fields', async function () {
    const tables = await startTableService();
    try {
      const printed = await runPython(this, tables.url, tables.key, BOOKS);
      expect(printed).to.equal('1 9780141439587 Jane Austen Emma\n');
    } finally {
      await tables.close();
    }
  });
});
