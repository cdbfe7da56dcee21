import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Document, Manifest } from '../../../core/contracts/dataset.js';
import { openDirectory } from '../../../core/data/directory.js';
import { checkDataset } from '../../../core/data/validate.js';
import { writeDirectory } from '../../../core/data/write-directory.js';
import type { Batches } from '../../../core/data/write-rows.js';
import { OperatorError, StorageError } from '../../../core/errors.js';
import { pidNamespace } from '../../../core/util/lock.js';
import * as fixture from '../../support/fixture.js';
import {
  collections,
  eachInFolder,
  manifestOf,
  readManifestFile,
  rows,
  rowsOf,
  writeByHand,
} from '../../support/weather.js';

const MODULE = new URL('../../../core/data/write-directory.js', import.meta.url).href;

const batches = ({ stations, readings }: typeof rows) => ({ stations: [stations], readings: [readings] });

describe('writeDirectory(path, manifest, collections)', () => {
  const folder = eachInFolder();
  const path = () => join(folder.path, 'new', 'data');

  const write = (version: number, content = rowsOf(version)) =>
    writeDirectory(path(), manifestOf(`v${version}`), batches(content));
  const read = async (collection: string): Promise<Document[]> => {
    const all: Document[] = [];
    for await (const batch of (await openDirectory(path())).dataset.read(collection)) all.push(...batch);
    return all;
  };
  const failure = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.fail('The write did not fail.'),
      (error: Error & { code?: string }) => error,
    );
  const state = async () => {
    const names = (await readdir(path())).sort();
    return Promise.all(names.map(async (name) => [name, await readFile(join(path(), name), 'utf8')]));
  };

  it('writes a valid directory, and resolves with its manifest', async () => {
    const written = await writeDirectory(path(), manifestOf(), batches(rows));
    expect(written).to.deep.equal(await readManifestFile(path()));
    const { dataset, manifest } = await openDirectory(path());
    expect(manifest).to.deep.equal(written);
    expect((await checkDataset(dataset, collections)).kept).to.deep.equal([]);
    expect(await read('stations')).to.deep.equal(rows.stations);
    expect(written.collections['readings']).to.deep.include({ rows: 3 });
  });

  it('names files after their content, so that equal content is written to the same file', async () => {
    const first = await write(1);
    const second = await writeDirectory(path(), manifestOf('v2'), { ...batches(rowsOf(1)), readings: [[]] });
    for (const { file, sha256 } of Object.values(second.collections)) {
      expect(file).to.match(new RegExp(`^(stations|readings)\\.${sha256?.slice(0, 12)}\\.ndjson$`));
    }
    expect(second.collections['stations']).to.deep.equal(first.collections['stations']);
    expect(await readdir(path())).to.have.length(4);
  });

  it('derives a version from the vintage, the sources and the rows of all collections', async () => {
    const writeWith = (content: Record<string, Batches>, sources: Manifest['sources'] = []) =>
      writeDirectory(path(), { ...manifestOf(), version: undefined, sources }, content);
    const { version: first, vintage } = await writeWith(batches(rowsOf(1)));
    expect(first).to.match(new RegExp(`^${vintage}-[0-9a-f]{12}$`));
    expect(await writeWith({ stations: [rowsOf(1).stations] })).to.include({ version: first });
    const second = await writeWith({ stations: [rowsOf(2).stations] });
    expect(second.version).to.not.equal(first);
    const files = Object.entries(second.collections).map(([name, { file }]) => [name, { file }]);
    const withoutDigests = { ...second, collections: Object.fromEntries(files) };
    await writeFile(join(path(), 'manifest.json'), JSON.stringify(withoutDigests));
    expect(await writeWith({ stations: [rowsOf(2).stations] })).to.include({ version: second.version });
    expect((await writeWith({}, fixture.manifest.sources)).version).to.not.equal(second.version);
  });

  it('accepts batches of any size from asynchronous generators, and reports progress', async () => {
    async function* generate() {
      yield [];
      for (const row of rows.readings) yield [row];
    }
    const progress: unknown[] = [];
    const onProgress = (step: unknown) => progress.push(step);
    await writeDirectory(path(), manifestOf(), { readings: generate(), stations: [] }, { onProgress });
    expect(await read('readings')).to.deep.equal(rows.readings);
    expect(progress.at(-1)).to.deep.equal({ collection: 'readings', written: 3 });
  });

  it('keeps collections that the caller does not name, including files written by hand', async () => {
    await writeByHand(path());
    await writeDirectory(path(), manifestOf('v2'), { stations: [rowsOf(2).stations] });
    expect(await read('stations')).to.deep.equal(rowsOf(2).stations);
    expect(await read('readings')).to.deep.equal(rows.readings);
    expect(await readdir(path())).to.include.members(['stations.ndjson', 'readings.ndjson']);
  });

  it('keeps files of the current and previous version and foreign files, and removes older files and leftovers', async () => {
    const first = await write(1);
    await writeFile(join(path(), 'notes.txt'), 'mine');
    const id = '5b3a1f0e-9d7c-4a55-8f6e-2c1b0a998877';
    await writeFile(join(path(), `keys.${id}.tmp`), 'being written by another program');
    await writeFile(join(path(), `stations.${id}.ndjson.tmp`), 'left by a crash');
    await writeFile(join(path(), `manifest.json.${id}.tmp`), 'left by a crash');
    await write(2);
    const file = first.collections['stations']!.file;
    expect(await readdir(path()))
      .to.include(file)
      .and.include('notes.txt')
      .and.include(`keys.${id}.tmp`)
      .and.have.length(7);
    await write(3);
    expect(await readdir(path()))
      .to.include('notes.txt')
      .and.include(`keys.${id}.tmp`)
      .and.have.length(7);
    expect(await readdir(path())).to.not.include(file);
  });

  it('shows readers one complete version while another version is written', async () => {
    await write(0);
    let writing = true;
    const reader = async () => {
      let reads = 0;
      for (; writing; reads++) {
        const { dataset, manifest } = await openDirectory(path());
        expect((await checkDataset(dataset, collections)).kept).to.deep.equal([]);
        for await (const batch of dataset.read('readings')) {
          for (const { low } of batch) expect(`v${low}`).to.equal(manifest.version);
        }
      }
      return reads;
    };
    const readers = Promise.all([reader(), reader()]);
    for (let version = 1; version <= 10; version++) await write(version);
    writing = false;
    expect(Math.min(...(await readers))).to.be.greaterThan(0);
  });

  describe('changes nothing and leaves no temporary files', () => {
    const unchangedBy = async (attempt: () => Promise<unknown>) => {
      await write(1);
      const before = await state();
      const error = await failure(attempt());
      expect(await state()).to.deep.equal(before);
      return error;
    };

    it('when a generator throws, and rethrows its error', async () => {
      const cause = new Error('the source broke off');
      async function* broken() {
        yield rows.readings.slice(0, 1);
        throw cause;
      }
      const attempt = () =>
        writeDirectory(path(), manifestOf('v2'), { stations: [rowsOf(2).stations], readings: broken() });
      expect(await unchangedBy(attempt)).to.equal(cause);
    });

    it('when a number cannot be written as JSON', async () => {
      const readings = [[rows.readings[0]!], [{ ...rows.readings[1], high: Number.NaN }]];
      const error = await unchangedBy(() => writeDirectory(path(), manifestOf('v2'), { readings }));
      expect(error).to.be.instanceOf(StorageError);
      expect(error.message).to.equal('readings:2: high: must be a finite number');
    });

    it('when a value cannot be written as JSON', async () => {
      const readings = [[{ ...rows.readings[0], high: 1n }]];
      const error = await unchangedBy(() => writeDirectory(path(), manifestOf('v2'), { readings }));
      expect(error).to.have.property('code', 'invalid_dataset');
      expect(error.message).to.match(/^readings:1: cannot be converted to JSON: .*BigInt/);
    });

    it('when the manifest or the name of a collection is invalid', async () => {
      const manifest = { ...manifestOf('a b'), vintage: '2025-02-29' };
      const error = await unchangedBy(() => writeDirectory(path(), manifest, { '../stations': [] }));
      expect(error).to.have.property('code', 'invalid_dataset');
      expect(error.message)
        .to.include('manifest.json: version: must be a string')
        .and.include('manifest.json: vintage: must be a calendar date')
        .and.include('the collection name "../stations" must match');
    });

    it('when the version already exists with different rows', async () => {
      const error = await unchangedBy(() => writeDirectory(path(), manifestOf('v1'), batches(rowsOf(2))));
      expect(error).to.have.property('code', 'conflict');
      expect(error.message).to.include('contains version "v1" with different rows in "stations", "readings"');
    });

    it('when beforeCommit throws', async () => {
      const cause = new Error('not valid');
      const beforeCommit = () => Promise.reject(cause);
      const attempt = () => writeDirectory(path(), manifestOf('v2'), batches(rowsOf(2)), { beforeCommit });
      expect(await unchangedBy(attempt)).to.equal(cause);
    });

    it('when the signal is aborted', async () => {
      const abort = new AbortController();
      const options = { onProgress: () => abort.abort(), signal: abort.signal };
      const attempt = () => writeDirectory(path(), manifestOf('v2'), batches(rowsOf(2)), options);
      expect(await unchangedBy(attempt)).to.have.property('code', 'aborted');
    });

    it('when the old manifest cannot be read, because its other collections would be lost', async () => {
      await write(1);
      await writeFile(join(path(), 'manifest.json'), '{');
      const error = await failure(writeDirectory(path(), manifestOf('v2'), { stations: [] }));
      expect(error).to.have.property('code', 'invalid_dataset');
      expect(await readFile(join(path(), 'manifest.json'), 'utf8')).to.equal('{');
    });

    it('when the disk is full (simulated with a file size limit)', async () => {
      await write(1);
      const before = await state();
      const script = `
        const { writeDirectory } = await import(${JSON.stringify(MODULE)});
        const rows = Array.from({ length: 100_000 }, (_, i) => ({ id: String(100_000 + i), name: 'x' }));
        const manifest = ${JSON.stringify(manifestOf('v2'))};
        await writeDirectory(${JSON.stringify(path())}, manifest, { readings: [], stations: [rows] })
          .then(() => console.log('written'), (error) => console.log(error.name, error.message));`;
      const limited = ['-c', 'ulimit -f 1000; exec "$0" --input-type=module -e "$1"', process.execPath, script];
      const { stdout } = await promisify(execFile)('sh', limited);
      expect(stdout).to.equal(`OperatorError The dataset ${path()} cannot be written: it is too large.\n`);
      expect(await state()).to.deep.equal(before);
    });

    it('when the path leads through a file', async () => {
      await writeFile(join(folder.path, 'new'), 'a file');
      const error = await failure(write(1));
      expect(error).to.be.instanceOf(OperatorError);
      expect(error.message).to.match(
        /cannot be written because its folder cannot be created: a part of its path is not a folder\.$/,
      );
    });
  });

  describe('while another process is writing', () => {
    it('rejects with a conflict, and works once the process has finished', async () => {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      let begin = (): void => {};
      const began = new Promise<void>((resolve) => {
        begin = resolve;
      });
      async function* slow() {
        begin();
        await held;
        yield rows.stations;
      }
      const first = writeDirectory(path(), manifestOf('slow'), { stations: slow(), readings: [] });
      await began;
      const error = await failure(write(2));
      expect(error).to.have.property('code', 'conflict');
      expect(error.message).to.match(new RegExp(`Process ${process.pid} on .* holds the lock\\.`));
      release();
      await first;
      await write(3);
      expect(await readManifestFile(path())).to.have.property('version', 'v3');
    });

    it('takes over from a process that was killed', async () => {
      await mkdir(path(), { recursive: true });
      const killed = execFile(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
      killed.kill('SIGKILL');
      await once(killed, 'exit');
      await writeFile(join(path(), 'manifest.json.lock'), `${killed.pid} ${hostname()} ${pidNamespace()} x`);
      await write(1);
      expect(await readdir(path())).to.have.length(3);
    });
  });

  it('repairs a damaged file when its content is written again', async () => {
    const { collections: files } = await write(1);
    const damaged = join(path(), files['stations']!.file);
    await unlink(damaged);
    await writeFile(damaged, 'x');
    await write(1);
    expect((await checkDataset((await openDirectory(path())).dataset, collections)).kept).to.deep.equal([]);
  });
});
