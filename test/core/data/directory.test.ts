import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Document } from '../../../core/contracts/dataset.js';
import { openDirectory } from '../../../core/data/directory.js';
import { checkDataset } from '../../../core/data/validate.js';
import { StorageError } from '../../../core/errors.js';
import { collections, eachInFolder, lines, rows, writeByHand } from '../../support/weather.js';

describe('openDirectory(path)', () => {
  const folder = eachInFolder();

  const read = async (collection: string): Promise<Document[]> => {
    const { dataset } = await openDirectory(folder.path);
    const all: Document[] = [];
    for await (const batch of dataset.read(collection)) all.push(...batch);
    return all;
  };

  it('reads a directory that was written by hand, without checksums', async () => {
    await writeByHand(folder.path);
    expect(await read('stations')).to.deep.equal(rows.stations);
    expect(await read('readings')).to.deep.equal(rows.readings);
    const { dataset, manifest } = await openDirectory(folder.path);
    expect(manifest.version).to.equal('one');
    expect((await checkDataset(dataset, collections)).kept).to.deep.equal([]);
  });

  it('accepts a last line without a line ending', async () => {
    await writeByHand(folder.path, { 'readings.ndjson': lines(rows.readings).trimEnd() });
    expect(await read('readings')).to.deep.equal(rows.readings);
  });

  it('accepts a byte order mark and CRLF', async () => {
    await writeByHand(folder.path, { 'readings.ndjson': `\uFEFF${lines(rows.readings).replaceAll('\n', '\r\n')}` });
    expect(await read('readings')).to.deep.equal(rows.readings);
  });

  it('returns no rows for an empty file, and for a collection that is not in the manifest', async () => {
    await writeByHand(folder.path, { 'readings.ndjson': '' });
    expect(await read('readings')).to.deep.equal([]);
    for (const name of ['others', 'constructor', '__proto__']) expect(await read(name)).to.deep.equal([]);
  });

  it('reads rows of any length and script, for any chunk boundaries', async () => {
    const long = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 2000 });
    await fc.assert(
      fc.asyncProperty(fc.array(long, { minLength: 1, maxLength: 20 }), fc.nat(5000), async (texts, pad) => {
        // About 600 KB of documents are read in several chunks that end at arbitrary bytes.
        const documents = Array.from({ length: 300 }, (_, i) => ({
          id: String(i),
          name: `${texts[i % texts.length]}👩‍💻ø${'x'.repeat(1900)}`,
        }));
        documents.unshift({ id: 'first', name: 'é'.repeat(pad) });
        await writeByHand(folder.path, { 'stations.ndjson': lines(documents) });
        expect(await read('stations')).to.deep.equal(documents);
      }),
      { numRuns: 15 },
    );
  });

  it('reads lines that span many chunks', async () => {
    const documents = [1, 3_000_000, 1, 700_000].map((length, i) => ({ id: `${i}`, name: 'ø'.repeat(length) }));
    await writeByHand(folder.path, { 'stations.ndjson': lines(documents) });
    expect(await read('stations')).to.deep.equal(documents);
  });

  it('keeps fields named like properties of Object.prototype', async () => {
    const text = '{"id":"a","__proto__":{"x":1},"toString":2}\n';
    await writeByHand(folder.path, { 'stations.ndjson': text });
    const [document] = await read('stations');
    expect(Object.keys(document as object)).to.deep.equal(['id', '__proto__', 'toString']);
    expect(Object.getPrototypeOf(document)).to.equal(Object.prototype);
  });

  it('reports the line of an error after the first chunk', async () => {
    const many = Array.from({ length: 20_000 }, (_, i) => ({ id: String(i).padStart(6, '0'), name: 'x'.repeat(20) }));
    const text = lines(many).split('\n');
    text[15_000] = 'nonsense';
    await writeByHand(folder.path, { 'stations.ndjson': text.join('\n') });
    const { dataset } = await openDirectory(folder.path);
    const errors = (await checkDataset(dataset, new Map([['stations', collections.get('stations')!]]))).kept;
    expect(errors).to.deep.equal([
      { file: 'stations.ndjson', row: 15_001, field: null, rule: 'is not JSON, column 1: expected a value' },
    ]);
  });

  it('dataset.read() throws invalid_dataset at an invalid row', async () => {
    await writeByHand(folder.path, { 'readings.ndjson': 'nonsense\n' });
    const error = await read('readings').catch((reason) => reason);
    expect(error).to.be.instanceOf(StorageError);
    expect(error).to.have.property('code', 'invalid_dataset');
  });

  it('dataset.digests contains the SHA-256 of each file that was read', async () => {
    await writeByHand(folder.path);
    const { dataset } = await openDirectory(folder.path);
    for await (const _ of dataset.read('stations'));
    const sha256 = createHash('sha256').update(lines(rows.stations)).digest('hex');
    expect([...dataset.digests]).to.deep.equal([['stations', sha256]]);
  });
});
