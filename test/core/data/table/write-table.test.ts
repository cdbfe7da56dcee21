import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DECLARATION } from '../../../../core/data/declarations.js';
import { type KeyedTable, writeToDirectory } from '../../../../core/data/table/write-table.js';

describe('writeToDirectory(table, target, sources), if it fails after it has written the declaration', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'write-table-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const things = (field: string): KeyedTable => ({
    name: 'things',
    async *rows() {
      const bytes = Buffer.from(`${JSON.stringify({ [field]: 1 })}\n`);
      yield { bytes, ends: [bytes.length - 1], values: [] };
    },
    collection: () => ({
      name: 'things',
      key: [field],
      schema: { type: 'object', required: [field], properties: { [field]: { type: 'integer' } } },
    }),
  });
  const write = (table: KeyedTable, stop?: AbortController) =>
    writeToDirectory(
      table,
      { folder, created: new Date(0), check: async () => stop?.abort(), onWrite: () => {}, signal: stop?.signal },
      [],
    );
  const failed = (table: KeyedTable) =>
    write(table, new AbortController()).then(
      () => expect.fail('written'),
      (error) => expect(error).to.have.property('code', 'aborted'),
    );

  it('restores the previous declaration', async () => {
    await write(things('id'));
    const path = join(folder, `things${DECLARATION}`);
    const edited = `${await readFile(path, 'utf8')}\n`;
    await writeFile(path, edited);
    const before = await readdir(folder);
    await failed(things('other'));
    expect(await readFile(path, 'utf8')).to.equal(edited);
    expect(await readdir(folder)).to.deep.equal(before);
  });

  it('leaves no declaration of a new collection', async () => {
    await failed(things('id'));
    expect((await readdir(folder)).filter((name) => name.endsWith(DECLARATION))).to.deep.equal([]);
  });
});
