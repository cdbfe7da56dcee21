import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Collection, Document } from '../../../../core/contracts/dataset.js';
import { openDirectory } from '../../../../core/data/directory.js';
import { checkDataset } from '../../../../core/data/validate.js';
import { writeDirectory } from '../../../../core/data/write-directory.js';
import { OperatorError } from '../../../../core/errors.js';
import { collections } from '../../../../plugins/metro/collections.js';
import { defaultRules } from '../../../../plugins/metro/forecast/default-rules.js';
import { forecastDirectory } from '../../../../plugins/metro/forecast/forecast-directory.js';
import { defaultForecastOptions } from '../../../../plugins/metro/forecast/model.js';
import { pooledMomentum } from '../../../../plugins/metro/forecast/models/pooled-momentum.js';
import { rowsOfPanel } from './panels.js';

const time = new Date('2015-04-02T00:00:00Z');
const input = { model: pooledMomentum, options: defaultForecastOptions, rules: defaultRules, span: { last: 8 }, time };
const declared = new Map(collections.map((one) => [one.name, one as unknown as Collection]));
const manifest = {
  format: 1,
  version: 'imported',
  created: '2015-04-01T00:00:00Z',
  vintage: '2015-03-31',
  synthetic: true,
  sources: [],
} as const;

const rowsOf = async (directory: string, name: string) => {
  const all: Document[] = [];
  for await (const batch of (await openDirectory(directory)).dataset.read(name)) all.push(...batch);
  return all;
};
const contents = async (directory: string) =>
  Object.fromEntries(
    await Promise.all(
      (await readdir(directory)).map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const),
    ),
  );

describe('forecastDirectory(directory, options)', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'metro-forecast-'));
    const empty = Object.fromEntries([...declared.keys()].map((name) => [name, [] as Document[]]));
    const all = { ...empty, ...rowsOfPanel(), notes: [{ id: 'of another plugin' }] };
    const batches = Object.entries(all).map(([name, rows]) => [name, [rows]] as const);
    await writeDirectory(directory, manifest, Object.fromEntries(batches));
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('writes a valid dataset with a new version, and keeps everything that it does not compute', async () => {
    const before = await openDirectory(directory);
    const { version, made } = await forecastDirectory(directory, input);
    const { manifest: after, dataset } = await openDirectory(directory);
    expect((await checkDataset(dataset, declared)).kept).to.deep.equal([]);
    expect(after).to.deep.include({ version, created: time.toISOString(), vintage: '2015-03-31', synthetic: true });
    expect(version).to.match(/^2015-03-31-[0-9a-f]{12}$/);
    for (const name of ['hpi', 'series', 'observations', 'notes']) {
      expect(after.collections[name]).to.deep.equal(before.manifest.collections[name]);
    }
    expect(await rowsOf(directory, 'forecasts')).to.deep.equal(made.forecasts);
  });

  it('gives the same version for the same content, and a different version for different content', async () => {
    const first = await forecastDirectory(directory, input);
    expect((await forecastDirectory(directory, input)).version).to.equal(first.version);
    const longer = await forecastDirectory(directory, { ...input, span: { last: 9 } });
    expect(longer.version).to.not.equal(first.version);
    expect(await rowsOf(directory, 'forecast_runs')).to.have.length(12);
  });

  it('changes nothing if there is nothing to forecast', async () => {
    const before = await contents(directory);
    const failure = await forecastDirectory(directory, { ...input, span: { to: 0 } }).catch((error: Error) => error);
    expect(failure).to.be.instanceOf(OperatorError);
    expect(await contents(directory)).to.deep.equal(before);
  });

  it('names the file that cannot be read', async () => {
    const file = (await openDirectory(directory)).manifest.collections['hpi']?.file as string;
    await writeFile(join(directory, file), '{"cbsa":"10000"\n');
    const failure = await forecastDirectory(directory, input).catch((error: Error) => error);
    expect(failure).to.be.instanceOf(OperatorError);
    expect((failure as Error).message)
      .to.include(`Cannot forecast from ${directory}:`)
      .and.include(file);
  });

  it('names the directory without a dataset', async () => {
    const nowhere = join(directory, 'nowhere');
    const failure = await forecastDirectory(nowhere, input).catch((error: Error) => error);
    expect(failure).to.be.instanceOf(OperatorError);
    expect((failure as Error).message).to.include(join(nowhere, 'manifest.json'));
  });
});
