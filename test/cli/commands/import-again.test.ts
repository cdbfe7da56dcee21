import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { register } from '../../../cli/commands/import-table.js';
import { expecting, runCommand } from '../../support/run-command.js';

type Edited = {
  key: string[];
  orders: string[][];
  search: string[];
  schema: {
    description?: string;
    properties: Record<string, Record<string, unknown>>;
    required: string[];
    examples?: object[];
  };
};

const CSV = 'code,Size (cm),city,note,sold\n07,1,Ulm,,2025\n8,2,Bonn,x,2024\n';
const OPTIONS = ['--key', 'code', '--sort', 'sold', '--search', 'note', '--name', 'Size (cm)=size'];

for (const target of ['data', 'data/a.db']) {
  describe(`metro-forecast import-table, for a collection that ${target} already declares`, () => {
    let folder: string;
    let declaration: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'import-again-'));
      declaration = join(folder, 'data', 'a.collection.json');
      await writeFile(join(folder, 'a.csv'), CSV);
      await done(...OPTIONS);
    });
    afterEach(() => rm(folder, { recursive: true }));

    const { done, refused, json } = expecting((...options) =>
      runCommand(register, ['import-table', join(folder, 'a.csv'), '--to', join(folder, target), ...options]),
    );
    const declared = async (): Promise<Edited> => JSON.parse(await readFile(declaration, 'utf8'));
    const edit = async (change: (edited: Edited) => void): Promise<Edited> => {
      const edited = await declared();
      change(edited);
      await writeFile(declaration, JSON.stringify(edited));
      return edited;
    };
    const importing = (text: string, ...options: string[]) =>
      writeFile(join(folder, 'a.csv'), text).then(() => json(...options));
    const refusing = async (text: string, ...options: string[]): Promise<string> => {
      await writeFile(join(folder, 'a.csv'), text);
      const isSaved = (name: string) => !/-(shm|wal)$/.test(name);
      const state = async () => [await declared(), (await readdir(dirname(declaration))).filter(isSaved)];
      const before = await state();
      const message = await refused(...options);
      expect(await state()).to.deep.equal(before);
      return message;
    };

    it('replaces a null in the examples if the column must now have values', async () => {
      await importing('code,n\na,\nb,1\n', '--key', 'code', '--redeclare');
      expect((await declared()).schema.examples).to.deep.equal([{ code: 'a', n: null }]);
      const { needsRestart } = await importing('code,n\na,2\nb,1\n', '--sort', 'n');
      expect([needsRestart, (await declared()).schema.examples]).to.deep.equal([true, [{ code: 'a', n: 2 }]]);
      expect(await importing('code,n\na,3\nb,1\n', '--key', 'code', '--sort', 'n', '--redeclare')).to.include({
        needsRestart: false,
      });
    });

    it('keeps the key, names, types, orders, descriptions, titles, rules and examples', async () => {
      const edited = await edit(({ orders, schema }) => {
        orders.push(['city', 'sold', 'code']);
        for (const name of ['city', 'sold']) schema.properties[name]!['type'] = name === 'city' ? 'string' : 'integer';
        Object.assign(schema.properties['city']!, { description: 'Where it is', title: 'Town' });
        schema.properties['size']!['minimum'] = 1;
        schema.description = 'Things';
        schema.examples = [{ code: 'x', size: 1, city: 'y', note: null, sold: 2000 }];
      });
      const { needsRestart, key, columns } = await importing(`${CSV}9,3,Ulm,,2025\n`);
      expect(await declared()).to.deep.equal(edited);
      expect([needsRestart, key]).to.deep.equal([false, ['code']]);
      expect(columns.map(({ type, guessed }: { type: string; guessed: boolean }) => [type, guessed])).to.deep.equal(
        ['text', 'integer', 'text', 'text', 'integer'].map((type) => [type, false]),
      );
    });

    it('keeps types of columns whose new values look like another type', async () => {
      await importing('code,Size (cm),city,note,sold\n1,,2,3,2025\n');
      const { properties } = (await declared()).schema;
      expect(['code', 'size', 'city', 'note'].map((name) => [properties[name]!['type']].flat()[0])).to.deep.equal([
        'string',
        'integer',
        'string',
        'string',
      ]);
    });

    it('adds and reports new columns', async () => {
      const text = 'new,code,Size (cm),city,note,sold\n1.5,07,1,Ulm,,2025\n';
      const { notes } = await importing(text);
      expect(notes).to.include('the new column "new" was added to the declaration');
      const { schema, key } = await declared();
      expect([schema.properties['new'], key]).to.deep.equal([{ type: ['number', 'null'] }, ['code']]);
      expect(schema.examples).to.deep.equal([{ new: 1.5, code: '07', size: 1, city: 'Ulm', note: null, sold: 2025 }]);
    });

    it('prefers options', async () => {
      await edit(({ orders, schema }) => {
        orders.push(['sold', 'city', 'code']);
        schema.properties['city']!['type'] = 'string';
        schema.properties['size']!['description'] = 'Its size';
      });
      const options = ['--key', 'city', '--sort', 'length', '--search', 'city', '--type', 'length=number'];
      await importing(CSV, ...options, '--name', 'size=length');
      const { key, orders, search, schema } = await declared();
      expect({ key, orders, search }).to.deep.equal({
        key: ['city'],
        orders: [
          ['sold', 'city'],
          ['length', 'city'],
        ],
        search: ['city'],
      });
      expect(schema.properties['length']).to.deep.equal({
        type: 'number',
        title: 'Size (cm)',
        description: 'Its size',
      });
      expect(schema.properties['code']!['type']).to.deep.equal(['string', 'null']);
    });

    it('writes a new declaration with --redeclare', async () => {
      await edit(({ schema }) => {
        schema.description = 'Things';
      });
      await importing('city\nUlm\n', '--redeclare');
      const { key, schema } = await declared();
      expect([key, schema.required, schema.description]).to.deep.equal([['city'], ['city'], undefined]);
    });

    it('keeps a row number as the key', async () => {
      await importing('v\n1\n1\n', '--redeclare');
      await edit(({ schema }) => {
        schema.properties['row']!['description'] = 'The position';
      });
      const edited = await declared();
      expect((await importing('v\n1\n2\n')).key).to.deep.equal(['row']);
      expect(await declared()).to.deep.equal(edited);
    });

    const rejected: readonly (readonly [what: string, text: string, ...errors: string[]])[] = [
      ['a column is missing', 'code,city,note,sold\n1,b,c,2\n', 'there is no column "size", which a.collection.json'],
      ['a value has another type', `${CSV}9,x,Ulm,,2025\n`, '"size" must be a whole number, but line 4 has "x"'],
      ['a number would lose digits', `${CSV}9,007,Ulm,,2025\n`, 'line 4 has "007": its leading zeros would be lost'],
      ['two rows have the same key', `${CSV}8,3,Ulm,,2025\n`, 'line 4: has the same key as line 3: code "8"'],
      ['a sort column is empty', `${CSV}9,3,Ulm,,\n`, '"sold" is empty in 1 row'],
    ];
    for (const [what, text, error] of rejected) {
      it(`rejects the file if ${what}, and changes nothing`, async () => {
        expect(await refusing(text))
          .to.include(error!)
          .and.include('--redeclare');
      });
    }

    it('rejects values that break an edited rule', async () => {
      await edit(({ schema }) => {
        schema.properties['size']!['maximum'] = 2;
        schema.properties['city']!['type'] = 'string';
      });
      expect(await refusing(`${CSV}9,3,Ulm,,2025\n`)).to.match(/line 4: "size" must be .* at most 2 or null, not 3/);
      expect(await refusing(`${CSV}9,1,,,2025\n`)).to.match(/line 4: "city" must be .*, not null/);
    });

    it('rejects a broken declaration instead of replacing it', async () => {
      await writeFile(declaration, '{"name": "a",}');
      expect(await refused()).to.match(/a\.collection\.json, line 1/);
      expect(await readFile(declaration, 'utf8')).to.equal('{"name": "a",}');
    });
  });
}
