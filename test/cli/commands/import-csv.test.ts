/** `metro-forecast import-csv`: the files that it accepts and rejects. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register } from '../../../cli/commands/import-csv.js';
import { readDeclarations } from '../../../core/data/declarations.js';
import { OperatorError } from '../../../core/errors.js';
import { expecting, runCommand } from '../../support/run-command.js';

describe('metro-forecast import-csv', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-csv-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const { done, refused } = expecting((file) =>
    runCommand(register, ['import-csv', file, '--collection', 'things', '--key', 'id', '--to', at('data')]),
  );

  it('writes rows in key order, and their declaration', async () => {
    await writeFile(at('a.csv'), 'id,Name\n2,"b, c"\n1,\n');
    expect((await done(at('a.csv'))).stdout).to.match(/with 2 rows of things:\n {2}id +integer, guessed/);
    const file = (await readdir(at('data'))).find((name) => name.endsWith('.ndjson'))!;
    expect(await readFile(join(at('data'), file), 'utf8')).to.equal('{"id":1,"name":null}\n{"id":2,"name":"b, c"}\n');
    expect(readDeclarations(at('data')).map(({ name, key }) => [name, key])).to.deep.equal([['things', ['id']]]);
  });

  const NOT_REGULAR = /cannot be read: it is a pipe, a socket or a device; name a regular file/;
  it('rejects pipes and devices at once', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    expect(await refused(at('pipe'))).to.match(NOT_REGULAR);
    expect(await refused('/dev/zero')).to.match(NOT_REGULAR);
  });

  it('rejects folders, missing files, and text that is not UTF-8', async () => {
    expect(await refused(folder)).to.match(/it is a folder/);
    expect(await refused(at('none.csv'))).to.match(/it does not exist/);
    await writeFile(at('latin1.csv'), Buffer.from('id,name\n1,Größe\n', 'latin1'));
    expect(await refused(at('latin1.csv'))).to.match(/it is not in UTF-8/);
    await writeFile(at('cut.csv'), Buffer.from('id,name\n1,ö').subarray(0, -1));
    expect(await refused(at('cut.csv'))).to.match(/it is not in UTF-8/);
  });

  it('rejects a pipe instead of a declaration file', async () => {
    await writeFile(at('a.csv'), 'id\n1\n');
    await done(at('a.csv'));
    execFileSync('mkfifo', [join(at('data'), 'other.collection.json')]);
    expect(() => readDeclarations(at('data'))).to.throw(OperatorError, /it is a pipe/);
  });
});
