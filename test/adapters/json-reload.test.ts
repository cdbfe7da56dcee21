import { readFileSync } from 'node:fs';
import { copyFile, cp, mkdir, readFile, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { StorageError } from '../../core/errors.js';
import { skip } from '../support/skip.js';
import { until } from '../support/until.js';
import { lines, readManifestFile, rowsOf, writeByHand } from '../support/weather.js';
import {
  eachInstance,
  eventuallyRejected,
  eventuallyServed,
  expectServed,
  readAll,
  withSnapshot,
  writeVersion,
} from './json-instance.js';

const byHand = (path: string, n: number) => {
  const { stations, readings } = rowsOf(n);
  const files = { 'stations.ndjson': lines(stations), 'readings.ndjson': lines(readings) };
  return writeByHand(path, files, { version: `v${n}`, created: `2026-01-0${n}T00:00:00Z` });
};

describe('the json adapter loads a version', () => {
  const instance = eachInstance();

  /** Replaces a symbolic link atomically, like `ln -sfn` followed by `mv -T`. */
  const pointTo = async (target: string, link: string) => {
    await symlink(target, `${link}.new`);
    await rename(`${link}.new`, link);
  };

  it('that was renamed into place, and calls changed() once it is served', async () => {
    await writeVersion(instance.path, 1);
    await instance.adapter.open();
    await expectServed(instance, 1);
    await writeVersion(instance.path, 2);
    await eventuallyServed(instance, 2);
    expect(instance.changes).to.deep.equal(['v1', 'v2']);
    expect(instance.problems.every((problem) => problem === undefined)).to.equal(true);
  });

  it('after a poll that failed, which is logged', async () => {
    await writeVersion(instance.path, 1);
    await instance.adapter.open();
    const push = instance.changes.push.bind(instance.changes);
    instance.changes.push = () => {
      throw new Error('the listener failed');
    };
    await writeVersion(instance.path, 2);
    expect(await eventuallyRejected(instance)).to.equal('the listener failed');
    instance.changes.push = push;
    await writeVersion(instance.path, 3);
    await eventuallyServed(instance, 3);
  });

  it('in short steps, so that other work can run', async () => {
    await byHand(instance.path, 1);
    await instance.adapter.open();
    const readings = Array.from({ length: 10_000 }, (_, i) => ({
      station: 'north',
      day: new Date(Date.UTC(1950, 0, 1 + i)).toISOString().slice(0, 10),
      low: 0,
      high: i,
    }));
    const files = { 'stations.ndjson': lines(rowsOf(2).stations), 'readings.ndjson': lines(readings) };
    let turns = 0;
    const count = () => {
      turns++;
      if (instance.changes.length < 2) setImmediate(count);
    };
    setImmediate(count);
    await writeByHand(instance.path, files, { version: 'v2', created: '2026-01-02T00:00:00Z' });
    await until(() => instance.changes.length === 2, { withinMs: 20_000 });
    // The adapter must let the event loop run at least once per 16 KiB.
    expect(turns).to.be.greaterThan(files['readings.ndjson'].length / 2 ** 14);
    expect(await instance.adapter.snapshot().get('readings', ['north', '1950-01-02'])).to.have.property('high', 1);
  });

  it('when a symbolic link to the directory is swapped', async () => {
    await writeVersion(join(instance.folder, 'a'), 1);
    await writeVersion(join(instance.folder, 'b'), 2);
    await pointTo('a', instance.path);
    await instance.adapter.open();
    await expectServed(instance, 1);
    await pointTo('b', instance.path);
    await eventuallyServed(instance, 2);
  });

  it('when links to a directory are swapped, as in a Kubernetes volume', async () => {
    await byHand(join(instance.path, '..2026_1'), 1);
    await byHand(join(instance.path, '..2026_2'), 2);
    await symlink('..2026_1', join(instance.path, '..data'));
    for (const file of ['manifest.json', 'stations.ndjson', 'readings.ndjson']) {
      await symlink(join('..data', file), join(instance.path, file));
    }
    await instance.adapter.open();
    await expectServed(instance, 1);
    await pointTo('..2026_2', join(instance.path, '..data'));
    await eventuallyServed(instance, 2);
  });

  it('when another directory replaces the directory', async () => {
    await byHand(instance.path, 1);
    await byHand(join(instance.folder, 'next'), 2);
    await instance.adapter.open();
    await rename(instance.path, join(instance.folder, 'previous'));
    await rename(join(instance.folder, 'next'), instance.path);
    await eventuallyServed(instance, 2);
  });

  it('that was edited in place, file by file', async () => {
    await byHand(instance.path, 1);
    await instance.adapter.open();
    await byHand(instance.path, 2);
    await eventuallyServed(instance, 2);
  });

  it('that was copied over the old one', async () => {
    await byHand(instance.path, 1);
    await instance.adapter.open();
    await byHand(join(instance.folder, 'next'), 2);
    await cp(join(instance.folder, 'next'), instance.path, { recursive: true });
    await eventuallyServed(instance, 2);
  });

  it('back and forth, with increasing publication times', async () => {
    await writeVersion(instance.path, 3);
    await instance.adapter.open();
    const times = [instance.adapter.snapshot().publishedAt.getTime()];
    expect(times).to.deep.equal([Date.parse('2026-01-03T00:00:00Z')]);
    for (const n of [2, 3, 1]) {
      await writeVersion(instance.path, n);
      await eventuallyServed(instance, n);
      times.push(instance.adapter.snapshot().publishedAt.getTime());
    }
    expect(times).to.deep.equal([...new Set(times)].sort((a, b) => a - b));
  });

  it('and reads no rows while nothing changes', async function () {
    const bytesRead = (): number => Number(/^rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))![1]);
    if (process.platform !== 'linux') skip(this, 'only Linux counts the bytes that a process has read');
    const notes = 'x'.repeat(4_000_000);
    await writeByHand(instance.path, {
      'stations.ndjson': lines([{ id: 'north', name: notes }]),
      'readings.ndjson': '',
    });
    await instance.adapter.open();
    const before = bytesRead();
    await delay(200);
    expect(bytesRead() - before).to.be.below(notes.length);
  });

  it('while clients read: no read fails or mixes two versions', async () => {
    await writeVersion(instance.path, 1);
    await instance.adapter.open();
    let writing = true;
    const seen = new Set<string>();
    const reader = async () => {
      while (writing) {
        await withSnapshot(instance, async (snapshot) => {
          seen.add(snapshot.version);
          for (const name of ['readings', 'stations'] as const) {
            const found = await readAll(snapshot, name);
            expect(found).to.deep.equal(rowsOf(Number(snapshot.version.slice(1)))[name]);
            await new Promise(setImmediate);
          }
        });
      }
    };
    const readers = Promise.all(Array.from({ length: 8 }, reader));
    for (let n = 2; n <= 8; n++) {
      await writeVersion(instance.path, n);
      await until(() => seen.has(`v${n}`), { withinMs: 20_000 });
    }
    writing = false;
    await readers;
  });

  it('and keeps a snapshot that is in use readable and unchanged', async () => {
    await writeVersion(instance.path, 1);
    await instance.adapter.open();
    await withSnapshot(instance, async (held) => {
      for (const n of [2, 3, 4]) {
        await writeVersion(instance.path, n);
        await eventuallyServed(instance, n);
      }
      expect(held.version).to.equal('v1');
      expect(await readAll(held, 'readings')).to.deep.equal(rowsOf(1).readings);
      expect(await held.get('stations', ['south'])).to.deep.equal(rowsOf(1).stations[1]);
    });
  });
});

describe('the json adapter rejects, and continues to serve the old version after,', () => {
  const instance = eachInstance();
  const manifestPath = () => join(instance.path, 'manifest.json');

  beforeEach(async () => {
    await writeVersion(instance.path, 1);
    await instance.adapter.open();
  });

  const rejectedWith = async (pattern: RegExp): Promise<void> => {
    expect(await eventuallyRejected(instance)).to.match(pattern);
    await expectServed(instance, 1);
    await instance.adapter.ping();
    expect(instance.changes).to.deep.equal(['v1']);
    const message = instance.problems.at(-1);
    expect(message).to.match(/version v1 is still served/);
    // `/status` publishes this message, so it must not contain file paths or error details.
    expect(message).to.not.include(instance.folder);
  };
  const recovers = async (n: number): Promise<void> => {
    await writeVersion(instance.path, n);
    await eventuallyServed(instance, n);
    expect(instance.problems.at(-1)).to.equal(undefined);
  };

  it('an invalid version, with all errors in the log', async () => {
    await byHand(instance.path, 2);
    await writeFile(join(instance.path, 'readings.ndjson'), lines([{ station: 'west' }, 5]));
    await rejectedWith(/readings\.ndjson:2: must be a JSON object\n(.*\n)*.*readings\.ndjson:1: day: is missing/);
    await recovers(3);
  });

  it('an incomplete version, until it is complete', async () => {
    const other = join(instance.folder, 'other');
    await writeVersion(other, 2);
    const { collections } = await readManifestFile(other);
    const file = collections.readings.file as string;
    const whole = await readFile(join(other, file), 'utf8');
    await copyFile(join(other, collections.stations.file), join(instance.path, collections.stations.file));
    await writeFile(join(instance.path, file), whole.slice(0, whole.indexOf('\n') + 1));
    await copyFile(join(other, 'manifest.json'), manifestPath());
    await rejectedWith(/has 1 row, but the manifest says 3/);
    await writeFile(join(instance.path, file), whole);
    await eventuallyServed(instance, 2);
    expect(instance.problems.at(-1)).to.equal(undefined);
  });

  it('a missing manifest, and recovers when the manifest is restored', async () => {
    const text = await readFile(manifestPath());
    await unlink(manifestPath());
    await rejectedWith(/manifest\.json cannot be read: it does not exist/);
    await writeFile(manifestPath(), text);
    await until(() => instance.problems.at(-1) === undefined, { withinMs: 20_000 });
    await expectServed(instance, 1);
    expect(instance.changes).to.deep.equal(['v1']);
  });

  it('a manifest that is not JSON', async () => {
    await writeFile(manifestPath(), '{"format": 1,');
    await rejectedWith(/manifest\.json:1: is not JSON, column 14/);
    await unlink(manifestPath());
    await recovers(2);
  });

  it('different rows under the version that is served', async () => {
    const { collections } = await readManifestFile(instance.path);
    await byHand(instance.path, 2);
    await writeFile(manifestPath(), JSON.stringify({ ...(await readManifestFile(instance.path)), version: 'v1' }));
    await rejectedWith(
      /contains version "v1" with different rows from the version "v1" that is being served. Change "version"/,
    );
    expect(collections).to.have.all.keys('stations', 'readings');
    await recovers(2);
  });

  it('a file that was removed', async () => {
    const { collections } = await readManifestFile(instance.path);
    await unlink(join(instance.path, collections.readings.file));
    await rejectedWith(/readings\.[0-9a-f]{12}\.ndjson: cannot be read: it does not exist/);
    await recovers(2);
  });

  it('a directory that became a file', async () => {
    await rename(instance.path, join(instance.folder, 'moved'));
    await writeFile(instance.path, 'no directory');
    await rejectedWith(/is a file, not a dataset directory; use the adapter "sqlite" for a database file/);
    const publication = instance.adapter.publish!({ manifest: {} as never, read: () => [] as never });
    expect(await publication.catch((reason) => reason)).to.be.instanceOf(StorageError);
    await unlink(instance.path);
    await mkdir(instance.path);
    await recovers(2);
  });
});
