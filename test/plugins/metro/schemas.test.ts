import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type DirectoryManifest, manifestErrors } from '../../../core/data/manifest.js';
import { packageRoot } from '../../../core/util/package.js';
import { compileSchema } from '../../../core/validation/compile-schema.js';
import { collections } from '../../../plugins/metro/collections.js';

const dataset = join(packageRoot, 'plugins/metro/dataset');
const folder = join(packageRoot, 'docs', 'schemas');
const read = (path: string) => readFileSync(path, 'utf8');
const schemaOf = (name: string) => JSON.parse(read(join(folder, `${name}.schema.json`)));

describe('docs/schemas', () => {
  it('validate the manifest and each line of the embedded sample', () => {
    const manifest = JSON.parse(read(join(dataset, 'manifest.json'))) as DirectoryManifest;
    expect(compileSchema(schemaOf('manifest'))(manifest)).to.equal(true);
    for (const { name } of collections) {
      const isLine = compileSchema(schemaOf(name));
      const lines = read(join(dataset, manifest.collections[name]!.file)).split('\n').slice(0, -1);
      for (const line of lines) expect(isLine(JSON.parse(line)), `${name}: ${line}`).to.equal(true);
    }
  });
});

describe('docs/reference/dataset-format.md', () => {
  const page = read(join(packageRoot, 'docs/reference/dataset-format.md'));

  it('has a valid manifest', () => {
    const [, example] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    expect(manifestErrors(JSON.parse(example!))).to.deep.equal([]);
  });

  it('lists every collection with its key', () => {
    const [, table] = /\n\| Collection .*\n.*\n((?:\|.*\n)+)/.exec(page) ?? [];
    const rows = [...table!.matchAll(/^\| `(\w+)` +\| (.+?) +\|/gm)];
    const listed = rows.map(([, name, key]) => ({ name, key: key?.replaceAll('`', '').split(', ') }));
    const declared = collections.map(({ name, key }) => ({ name, key }));
    expect(listed).to.deep.equal(declared);
  });
});
