import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectory } from '../../../../core/data/directory.js';
import { checkDataset } from '../../../../core/data/validate.js';
import { writeDirectory } from '../../../../core/data/write-directory.js';
import { collections, type ForecastRun } from '../../../../plugins/metro/collections.js';
import { type ImportOptions, importInto } from '../../../../plugins/metro/import/import.js';
import { operatorFailure } from '../../../support/operator-failure.js';
import { needSharedData } from '../../../support/shared-data.js';
import { unscored } from '../unscored.js';

const TIME = new Date('2026-03-01T12:00:00Z');
const byName = new Map(collections.map((collection) => [collection.name, collection]));

/** Two areas and five quarters in FHFA's format, with a gap, a division and a missing value. */
const METRO = [
  '"Abilene, TX",10180,2024,1,100.00,( 2.62)',
  '"Abilene, TX",10180,2024,2,101.00,( 2.62)',
  '"Abilene, TX",10180,2024,3,-,-',
  '"Abilene, TX",10180,2024,4,103.00,(12.62)',
  '"Abilene, TX",10180,2025,1,110.00,( 2.62)',
  '"Anaheim, CA  (MSAD)",11244,2024,1,-,-',
  '"Anaheim, CA  (MSAD)",11244,2024,2,200.00,( 1.00)',
  '"Anaheim, CA  (MSAD)",11244,2024,3,201.00,( 1.00)',
  '"Anaheim, CA  (MSAD)",11244,2024,4,202.00,( 1.00)',
  '"Anaheim, CA  (MSAD)",11244,2025,1,203.00,( 1.00)',
]
  .map((line) => `${line}\r\n`)
  .join('');
const UNRATE = 'observation_date,UNRATE\n2025-09-01,4.4\n2025-10-01,.\n2025-11-01,4.6\n';

const contents = async (directory: string): Promise<Record<string, string>> => {
  const files = (await readdir(directory)).sort();
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(join(directory, file), 'utf8')] as const)),
  );
};

const load = async (directory: string) => {
  const { dataset, manifest } = await openDirectory(directory);
  expect((await checkDataset(dataset, byName)).kept, 'errors').to.deep.equal([]);
  const rows: Record<string, Record<string, unknown>[]> = {};
  for (const name of byName.keys()) {
    const found: Record<string, unknown>[] = [];
    for await (const batch of dataset.read(name)) for (const row of batch) found.push({ ...row });
    rows[name] = found;
  }
  return { manifest, rows };
};

describe('plugins/metro/import', () => {
  let folder: string;
  let to: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-'));
    to = join(folder, 'data');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const put = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const run = (sources: string[], options: Partial<ImportOptions> = {}) =>
    importInto({ sources, to, time: TIME, ...options });

  it('writes a valid dataset from an index and a series', async () => {
    const report = await run([await put('hpi.csv', METRO), await put('unrate.csv', UNRATE)]);
    const { manifest, rows } = await load(to);
    expect(rows['markets']).to.deep.equal([
      {
        id: 10180,
        cbsa: '10180',
        name: 'Abilene, TX',
        yoy_price: 10,
        ...unscored,
      },
      {
        id: 11244,
        cbsa: '11244',
        name: 'Anaheim, CA (MSAD)',
        yoy_price: null,
        ...unscored,
      },
    ]);
    expect(rows['hpi']?.slice(0, 4)).to.deep.equal([
      { cbsa: '10180', period_start: '2024-01-01', value: 100, standard_error: 2.62 },
      { cbsa: '10180', period_start: '2024-04-01', value: 101, standard_error: 2.62 },
      { cbsa: '10180', period_start: '2024-10-01', value: 103, standard_error: 12.62 },
      { cbsa: '10180', period_start: '2025-01-01', value: 110, standard_error: 2.62 },
    ]);
    expect(rows['observations']).to.deep.equal([
      { series_id: 'UNRATE', period_start: '2025-09-01', value: 4.4 },
      { series_id: 'UNRATE', period_start: '2025-11-01', value: 4.6 },
    ]);
    expect(rows['series']?.map(({ series_id, title }) => [series_id, title])).to.deep.equal([
      ['UNRATE', 'Unemployment Rate'],
      ['metro_hpi', 'FHFA House Price Index, All-Transactions, by Metro Area'],
    ]);
    expect(manifest).to.include({ vintage: '2025-12-30', created: TIME.toISOString(), synthetic: false });
    expect(manifest.version)
      .to.match(/^2025-12-30-[0-9a-f]{12}$/)
      .and.to.equal(report.version);
    expect(report).to.deep.include({
      directory: to,
      vintage: '2025-12-30',
      index: { markets: 2, values: 8 },
      series: [{ series_id: 'UNRATE', cadence: 'monthly', values: 2 }],
      badRows: 0,
      dropped: { markets: [], rows: {} },
    });
  });

  it('gives the same version for the same input, and a different version for different input', async () => {
    const hpi = await put('hpi.csv', METRO);
    const first = await run([hpi]);
    expect((await run([hpi], { to: join(folder, 'again') })).version).to.equal(first.version);
    const other = await put('other.csv', METRO.replace('103.00', '103.01'));
    expect((await run([other], { to: join(folder, 'other') })).version).to.not.equal(first.version);
  });

  it('uses the given vintage, or the day of `created`', async () => {
    const hpi = await put('hpi.csv', METRO);
    expect((await run([hpi], { vintage: '2025-06-01' })).vintage).to.equal('2025-06-01');
    expect((await run([hpi], { created: new Date('2025-07-01T12:00:00Z') })).vintage).to.equal('2025-07-01');
    expect(await operatorFailure(run([], { vintage: '2025-02-30' }))).to.match(/vintage must be a valid day like/);
  });

  it('derives the vintage from the releases of FHFA and the usual delay of series, up to the time of the import', async () => {
    const hpi = await put('hpi.csv', METRO);
    const unrate = await put('unrate.csv', UNRATE);
    expect((await run([hpi])).vintage).to.equal('2025-05-27');
    expect((await run([hpi], { time: new Date('2025-05-20T00:00:00Z') })).vintage).to.equal('2025-05-20');
    expect((await run([unrate])).vintage).to.equal('2025-12-30');
    const gdp = await put('gdp.csv', 'DATE,GDP\n2025-04-01,1\n');
    expect((await run([gdp], { to: join(folder, 'gdp') })).vintage).to.equal('2025-09-01');
  });

  it('keeps a later vintage when only series are imported', async () => {
    await run([await put('hpi.csv', METRO)], { vintage: '2026-02-01' });
    expect((await run([await put('unrate.csv', UNRATE)])).vintage).to.equal('2026-02-01');
    expect((await run([await put('hpi.csv', METRO)])).vintage).to.equal('2025-12-30');
  });

  it('lists every bad row of every file, and changes nothing', async () => {
    await run([await put('hpi.csv', METRO)]);
    const before = await contents(to);
    const hpi = await put('bad.csv', `${METRO}"Nowhere, TX",1,2025,1,1.00,-\r\n"X, TX",10180,2025,2,1.00,-\r\n`);
    const unrate = await put('unrate.csv', `${UNRATE}2025-13-01,1\n`);
    const message = await operatorFailure(run([hpi, unrate]));
    expect(message).to.include('Nothing was imported').and.to.include('--skip-bad-rows');
    expect(message).to.include('bad.csv:11: the code must be 5 digits');
    expect(message).to.include('bad.csv:12: 10180 is "X, TX" here and "Abilene, TX" on line 1');
    expect(message).to.include('unrate.csv:5: the date must be a valid day like');
    expect(await contents(to)).to.deep.equal(before);
  });

  it('creates no directory when an import fails', async () => {
    await operatorFailure(run([await put('bad.csv', `${METRO}"Nowhere, TX",1,2025,1,1.00,-\r\n`)]));
    expect(await readdir(folder)).to.deep.equal(['bad.csv']);
  });

  it('with skipBadRows, leaves out bad rows and counts them', async () => {
    const rows = Array.from({ length: 70 }, (_, i) => `"Nowhere, TX",1,2025,1,${i + 1}.00,-\r\n`).join('');
    const report = await run([await put('bad.csv', rows + METRO)], { skipBadRows: true });
    expect(report.badRows).to.equal(70);
    expect(report.faults).to.have.length(51);
    expect(report.faults.at(-1)).to.equal('and 20 more bad rows');
    expect(report.index).to.deep.equal({ markets: 2, values: 8 });
    await load(to);
  });

  it('never skips a whole file', async () => {
    const page = await put('page.csv', '<!doctype html>');
    expect(await operatorFailure(run([await put('hpi.csv', METRO), page], { skipBadRows: true }))).to.match(
      /page\.csv: has an unknown/,
    );
  });

  it('drops and reports the markets and runs of a replaced index', async () => {
    await run([await put('hpi.csv', METRO), await put('unrate.csv', UNRATE)]);
    await addRun(to);
    const next = METRO.replaceAll('11244', '11245');
    const report = await run([await put('next.csv', next)]);
    expect(report.dropped).to.deep.equal({ markets: ['11244'], rows: { forecast_runs: 1, forecasts: 2 } });
    const { rows } = await load(to);
    expect(rows['markets']?.map(({ cbsa }) => cbsa)).to.deep.equal(['10180', '11245']);
    expect(rows['forecasts']).to.deep.equal([]);
    expect(rows['observations']).to.have.length(2);
  });

  it('keeps published runs with all their forecasts, and drops reconstructed runs', async () => {
    await run([await put('hpi.csv', METRO)]);
    await addRun(to, { basis: 'published', vintage: '2025-03-31', published_at: TIME.toISOString() });
    const before = await load(to);
    const report = await run([await put('next.csv', METRO.replaceAll('11244', '11245'))]);
    expect(report.dropped).to.deep.equal({ markets: ['11244'], rows: {} });
    const { rows } = await load(to);
    expect(rows['forecast_runs']).to.deep.equal(before.rows['forecast_runs']);
    expect(rows['forecasts']).to.deep.equal(before.rows['forecasts']);
    expect(rows['markets']?.map(({ forecast_12m }) => forecast_12m)).to.deep.equal([1, null]);
  });

  it('drops published runs that are later than the index, or than the time of the import', async () => {
    const origin = { basis: 'published', vintage: '2025-03-31', published_at: TIME.toISOString() } as const;
    const older = await put('older.csv', METRO.replaceAll(/^.*,2025,1,.*\r\n/gm, ''));
    await run([await put('hpi.csv', METRO)]);
    await addRun(to, { ...origin, id: 20251 });
    expect((await run([older])).dropped.rows).to.deep.equal({ forecast_runs: 1, forecasts: 2 });
    await addRun(to, { ...origin, id: 20244 });
    const before = { time: new Date('2025-03-01T00:00:00Z') };
    expect((await run([older], before)).dropped.rows).to.deep.equal({ forecast_runs: 1, forecasts: 2 });
  });

  it('rejects periods that end after --created, with the first period of each series, and changes nothing', async () => {
    const hpi = await put('hpi.csv', METRO);
    const unrate = await put('unrate.csv', UNRATE);
    const daily = await put('DGS10.csv', 'date,value\n2024-11-26,4\n2024-11-27,4\n');
    const message = await operatorFailure(run([hpi, unrate, daily], { time: new Date('2024-11-26T14:00:00Z') }));
    expect(message).to.include('Nothing was imported, because the data is newer than the time in --created.');
    for (const text of [
      'metro_hpi: the period from 2024-10-01 ends on 2024-12-31, after the dataset was created (2024-11-26)',
      'UNRATE: the period from 2025-09-01 ends on 2025-09-30, after',
      'DGS10: the period from 2024-11-27 ends on 2024-11-27, after',
    ])
      expect(message).to.include(text);
    expect(message).to.not.include('2025-11-01');
    expect(await readdir(folder)).to.not.include('data');

    await run([hpi, unrate]);
    const over = await put('old.csv', METRO.replaceAll(/^.*,2024,4,.*\r\n|^.*,2025,1,.*\r\n/gm, ''));
    expect(await operatorFailure(run([over], { time: new Date('2024-11-26T14:00:00Z') }))).to.include(
      'UNRATE, which is already in the dataset: the period from 2025-11-01 ends on 2025-11-30',
    );
  });

  it('dates a week by its last day', async () => {
    const weekly = await put('ICSA.csv', 'date,value\n2026-02-14,1\n2026-02-21,2\n2026-02-28,3\n');
    expect((await run([weekly])).series).to.deep.equal([{ series_id: 'ICSA', cadence: 'weekly', values: 3 }]);
  });

  it('keeps runs and markets when only series are imported', async () => {
    await run([await put('hpi.csv', METRO)]);
    await addRun(to);
    const before = await load(to);
    const report = await run([await put('unrate.csv', UNRATE)]);
    expect(report.dropped).to.deep.equal({ markets: [], rows: {} });
    const { rows } = await load(to);
    for (const name of ['markets', 'hpi', 'forecast_runs', 'forecasts'])
      expect(rows[name], name).to.deep.equal(before.rows[name]);
  });

  it('does not mix real and synthetic data', async () => {
    await run([await put('hpi.csv', METRO)]);
    const path = join(to, 'manifest.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace(/"synthetic":\s*false/, '"synthetic":true'));
    const before = await contents(to);
    expect(await operatorFailure(run([await put('unrate.csv', UNRATE)]))).to.match(/contains made-up numbers/);
    expect(await contents(to)).to.deep.equal(before);
  });

  it('rejects a directory whose dataset cannot be read, and changes nothing', async () => {
    await run([await put('hpi.csv', METRO)]);
    await writeFile(join(to, 'manifest.json'), '{');
    expect(await operatorFailure(run([await put('unrate.csv', UNRATE)]))).to.match(
      /contains a dataset that cannot be read/,
    );
    expect(await readFile(join(to, 'manifest.json'), 'utf8')).to.equal('{');
  });
});

const addRun = async (directory: string, origin: Partial<ForecastRun> = {}): Promise<void> => {
  const { manifest, rows } = await load(directory);
  const { collections: _files, ...description } = manifest;
  const run = { model_version: 'm', run_at: TIME.toISOString(), horizon_months: 12 };
  const forecast = {
    ...run,
    run_id: origin.id ?? 1,
    target_period: '2026-01-01',
    point: 1,
    lower_80: null,
    upper_80: null,
  };
  const rest = { signal: null, risk_score: null, realized: null, realized_as_of: null };
  await writeDirectory(
    directory,
    { ...description, version: 'with-run' },
    Object.fromEntries(
      Object.entries({
        ...rows,
        forecast_runs: [{ ...run, id: 1, status: 'completed', features: null, notes: null, ...origin }],
        forecasts: ['10180', '11244'].map((cbsa) => ({ ...forecast, cbsa, ...rest })),
      }).map(([name, documents]) => [name, [documents]]),
    ),
  );
};

describe('plugins/metro/import of published files', () => {
  let to: string;
  beforeEach(async () => {
    to = join(await mkdtemp(join(tmpdir(), 'import-')), 'data');
  });
  afterEach(() => rm(join(to, '..'), { recursive: true }));

  it('imports FHFA 2025Q4 and 14 macro series without errors, then FHFA 2024Q3 over them', async function () {
    const data = needSharedData(this);
    const vintage = (name: string) => join(data, 'fhfa', `hpi_at_metro_${name}.csv`);

    const report = await importInto({ sources: [vintage('2025Q4'), join(data, 'macro')], to, time: TIME });
    expect(report.index).to.deep.equal({ markets: 410, values: 70_243 });
    expect(report.series).to.have.length(14);
    expect([report.badRows, report.ignored]).to.deep.equal([0, []]);
    const first = await load(to);
    expect(first.manifest.vintage).to.equal('2026-02-24');
    const hpi = (cbsa: string) => (first.rows['hpi'] ?? []).filter((row) => row['cbsa'] === cbsa);
    expect(hpi('26420')).to.have.length(200);
    expect(hpi('35620')).to.have.length(0);
    const ithaca = hpi('27060').map((row) => row['period_start']);
    expect(ithaca).to.include('2022-07-01').and.to.include('2023-01-01').and.not.to.include('2022-10-01');
    const text = await readFile(vintage('2025Q4'), 'latin1');
    const [, value, error] = /^.*,26420,2025,4,([\d.]+),\(\s*([\d.]+)\)/m.exec(text)!;
    expect(hpi('26420').at(-1)).to.deep.equal({
      cbsa: '26420',
      period_start: '2025-10-01',
      value: Number(value),
      standard_error: Number(error),
    });
    const unrate = (first.rows['observations'] ?? []).filter((row) => row['series_id'] === 'UNRATE');
    expect(unrate).to.have.length(550);
    expect(unrate.map((row) => row['period_start'])).to.not.include('2025-10-01');
    expect((first.rows['markets'] ?? []).filter((row) => String(row['name']).endsWith(' (MSAD)'))).to.have.length(37);
    const latest = new Map(first.manifest.sources.map((source) => [source.id, source.latest_period]));
    expect([latest.get('HOUST'), latest.get('HSN1F'), latest.get('PAYEMS'), latest.get('metro_hpi')]).to.deep.equal([
      '2025-08-01',
      '2025-08-01',
      '2025-11-01',
      '2025-10-01',
    ]);

    const over = await importInto({ sources: [vintage('2024Q3')], to, time: TIME });
    expect(over.index).to.deep.equal({ markets: 404, values: 66_954 });
    expect(over.dropped.markets).to.have.length(24);
    const second = await load(to);
    expect(second.manifest.vintage).to.equal('2025-12-31');
    expect(second.rows['observations']).to.deep.equal(first.rows['observations']);
    for (const { name } of second.rows['markets'] as { name: string }[]) expect(name).to.not.match(/\s\s/);
  });
});
