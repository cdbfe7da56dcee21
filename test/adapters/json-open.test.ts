import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { assertFits } from '../../adapters/json/memory.js';
import { StorageError } from '../../core/errors.js';
import { until } from '../support/until.js';
import { lines, manifestOf, rows, writeByHand } from '../support/weather.js';
import { eachInstance, expectServed, writeVersion } from './json-instance.js';

const WAITING = 'the dataset directory is missing or empty: waiting for a dataset';

describe('json.open()', () => {
  const instance = eachInstance();

  const rejection = async (code = 'invalid_dataset'): Promise<string> => {
    const error = await instance.adapter.open().then(
      () => expect.fail('open() did not reject.'),
      (reason) => reason,
    );
    expect(error).to.be.instanceOf(StorageError);
    expect(error).to.have.property('code', code);
    expect(() => instance.adapter.snapshot())
      .to.throw(StorageError)
      .with.property('code', 'unavailable');
    return error.message;
  };

  it('rejects with invalid_dataset and all errors of an invalid dataset', async () => {
    await writeByHand(instance.path, {
      'stations.ndjson': lines([{ id: 'north' }]),
      'readings.ndjson': lines([
        { ...rows.readings[0], low: 1e6 },
        { ...rows.readings[1], day: 'today' },
      ]),
    });
    expect((await rejection()).split('\n').slice(1)).to.deep.equal([
      '  - stations.ndjson:1: name: is missing',
      '  - readings.ndjson:1: station: refers to north, which is not in "stations"',
      '  - readings.ndjson:1: low: must not be above high',
      '  - readings.ndjson:2: day: must be a calendar date, YYYY-MM-DD, not "today"',
    ]);
  });

  it('lists 100 errors and the number of further errors', async () => {
    const stations = Array.from({ length: 1000 }, (_, i) => ({ id: String(i + 1000), name: 5 }));
    await writeByHand(instance.path, { 'stations.ndjson': lines(stations), 'readings.ndjson': '' });
    const found = (await rejection()).split('\n');
    expect(found).to.have.length(102);
    expect(found.at(-1)).to.equal('  - and 900 more');
  });

  it('waits for a missing directory, logs this once, and serves the dataset that is created later', async () => {
    await instance.adapter.open();
    await delay(100);
    expect(() => instance.adapter.snapshot()).to.throw(StorageError, 'No dataset has been loaded');
    await mkdir(instance.path);
    await delay(100);
    expect(instance.log.map(({ msg }) => msg)).to.deep.equal([WAITING]);
    await writeVersion(instance.path, 1);
    await until(() => instance.changes.length > 0, { withinMs: 20_000 });
    await expectServed(instance, 1);
  });

  it('rejects with invalid_dataset for a directory that contains other files', async () => {
    await mkdir(instance.path);
    await writeFile(join(instance.path, 'readme.txt'), 'nothing of that kind');
    expect(await rejection()).to.match(/manifest\.json cannot be read: it does not exist/);
  });

  it('rejects a dataset that does not fit into memory before reading it, and names the required memory', async () => {
    await writeByHand(instance.path);
    // The file is sparse. If the adapter read its 1 TiB, the test would time out.
    const file = await open(join(instance.path, 'readings.ndjson'), 'r+');
    await file.truncate(2 ** 40);
    await file.close();
    expect(await rejection())
      .to.match(/files are 1,048,577 MiB in size and need about [\d,]+ MiB of memory/)
      .and.match(
        /this machine or container has [\d,]+ MiB of memory\. Give it [\d,]+ MiB, or serve the dataset from another/,
      );
  });

  it('waits for a dataset if the directory contains only hidden files', async () => {
    await mkdir(instance.path);
    await writeFile(join(instance.path, '.keep'), '');
    await instance.adapter.open();
    expect(() => instance.adapter.snapshot())
      .to.throw(StorageError)
      .with.property('code', 'unavailable');
    const ping = await instance.adapter.ping().catch((reason) => reason);
    expect(ping).to.have.property('code', 'unavailable');
    await delay(100);
    expect(instance.problems).to.deep.equal(['There is no dataset yet.']);
    expect(instance.log.map(({ msg }) => msg)).to.deep.equal([WAITING]);
    await writeVersion(instance.path, 1);
    await until(() => instance.changes.length > 0, { withinMs: 20_000 });
    await expectServed(instance, 1);
    expect(instance.problems.at(-1)).to.equal(undefined);
  });

  it('loads only the declared collections', async () => {
    const collections = Object.fromEntries(
      ['stations', 'readings', 'others'].map((name) => [name, { file: `${name}.ndjson` }]),
    );
    await writeByHand(instance.path, { 'others.ndjson': 'not part of the dataset\n' }, { collections });
    await instance.adapter.open();
    const { manifest } = instance.adapter.snapshot();
    expect(manifest).to.deep.equal(manifestOf());
    const others = await instance.adapter
      .snapshot()
      .get('others', ['x'])
      .catch((reason) => reason);
    expect(others).to.have.property('code', 'unknown_collection');
  });

  it('yields to other work while it loads', async () => {
    const readings = Array.from({ length: 60_000 }, (_, i) => ({
      station: i < 30_000 ? 'north' : 'south',
      day: new Date(Date.UTC(1950, 0, 1 + (i % 30_000))).toISOString().slice(0, 10),
      low: 0,
      high: i,
    }));
    await writeByHand(instance.path, { 'readings.ndjson': lines(readings) });
    let turns = 0;
    let loading = true;
    const count = () => {
      turns++;
      if (loading) setImmediate(count);
    };
    setImmediate(count);
    await instance.adapter.open();
    loading = false;
    // The adapter reads the 3.7 MB in chunks, and must let the event loop run between two chunks.
    expect(turns).to.be.greaterThan(50);
    expect(await instance.adapter.snapshot().get('readings', ['south', '1950-01-02'])).to.have.property('high', 30_001);
  });

  it('settles before close() resolves', async () => {
    await writeVersion(instance.path, 1);
    let ended = false;
    const opening = instance.adapter.open().catch(() => undefined);
    void opening.then(() => {
      ended = true;
    });
    await instance.adapter.close();
    await new Promise(setImmediate);
    expect(ended).to.equal(true);
  });

  it('rejects with closed when the adapter is closed during the load', async () => {
    await writeVersion(instance.path, 1);
    const opening = instance.adapter.open().catch((reason) => reason);
    await instance.adapter.close();
    expect(await opening).to.have.property('code', 'closed');
  });
});

describe('assertFits(loaded, served, limit, workers)', () => {
  const MIB = 2 ** 20;
  const size = { bytes: 500 * MIB, positions: 10 * MIB };

  it('accepts a dataset that fits into the memory', () => {
    expect(() => assertFits(size, undefined, 950 * MIB)).to.not.throw();
    expect(() => assertFits(size, undefined, 900 * MIB)).to.throw(
      StorageError,
      /The dataset's files are 500 MiB in size and need about 840 MiB of memory; this machine or container has 900 MiB of memory\. Give it 930 MiB, or/,
    );
  });

  it('counts the served dataset, which stays in memory during the load', () => {
    expect(() => assertFits(size, size, 1900 * MIB)).to.not.throw();
    expect(() => assertFits(size, size, 1800 * MIB)).to.throw(
      StorageError,
      /need about 840 MiB of memory, in addition to 840 MiB for the served version; .* Give it 1,850 MiB/,
    );
  });

  it('counts the dataset once for each worker', () => {
    expect(() => assertFits(size, undefined, 2000 * MIB, 2)).to.not.throw();
    expect(() => assertFits(size, undefined, 2000 * MIB, 4)).to.throw(
      StorageError,
      /need about 840 MiB in each of 4 workers; .* Give it 3,800 MiB, set server\.workers to a lower number, or/,
    );
  });
});
