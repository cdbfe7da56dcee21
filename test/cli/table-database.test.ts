import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeToDatabase } from '../../cli/table-database.js';
import { DECLARATION } from '../../core/data/declarations.js';
import type { KeyedTable, TableTarget } from '../../core/data/table/write-table.js';
import { skip } from '../support/skip.js';

describe('writeToDatabase(database, table, target)', () => {
  let folder: string;
  let database: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'table-database-'));
    database = join(folder, 'data.db');
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  const things: KeyedTable = {
    name: 'things',
    async *rows(fields = []) {
      yield { bytes: Buffer.from('{"id":1}\n'), ends: [8], values: fields.map(() => 1) };
    },
    collection: () => ({
      name: 'things',
      key: ['id'],
      schema: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
    }),
  };

  const failed = (check: TableTarget['check']): Promise<Error> =>
    writeToDatabase(database, things, { folder, created: new Date(0), check, onWrite: () => {} }).then(
      () => expect.fail('written'),
      (error) => error,
    );

  it('keeps a database that another process has created during the import', async () => {
    const error = await failed(() => writeFile(database, 'keys'));
    expect(error.message).to.match(/Another process has created .*data\.db/);
    expect(await readFile(database, 'utf8')).to.equal('keys');
    expect(await readdir(folder)).to.deep.equal(['data.db']);
  });

  it('removes the new database, but no symbolic link, if the declaration cannot be written', async function () {
    if (process.platform === 'win32') skip(this, 'only administrators can create symbolic links on Windows');
    await mkdir(join(folder, 'disk'));
    await symlink('disk/other.db', database);
    await failed(async () => void (await mkdir(join(folder, `things${DECLARATION}`))));
    expect(await readdir(join(folder, 'disk'))).to.deep.equal([]);
    expect((await lstat(database)).isSymbolicLink()).to.equal(true);
  });
});
