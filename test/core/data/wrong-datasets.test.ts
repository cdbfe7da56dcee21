import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { formatDataError } from '../../../core/data/data-errors.js';
import { openDirectory } from '../../../core/data/directory.js';
import { checkDataset } from '../../../core/data/validate.js';
import { StorageError } from '../../../core/errors.js';
import { collections, eachInFolder, lines, manifestOf, rows, writeByHand } from '../../support/weather.js';

const [north, second, south] = rows.readings as [object, object, object];

const wrongReadings: Record<string, { content: string | Buffer; errors: string[] }> = {
  'a value of another type': {
    content: lines([{ ...north, low: '-3' }, second]),
    errors: ['readings.ndjson:1: low: must be a number, not "-3"'],
  },
  'a missing field and a field of the wrong type': {
    content: '{"station":"north","day":"2025-01-01","lo":1,"high":2}\n',
    errors: ['readings.ndjson:1: low: is missing', 'readings.ndjson:1: lo: is not a known field; did you mean "low"?'],
  },
  'the same key twice': {
    content: lines([north, north, second]),
    errors: ['readings.ndjson:2: station+day: has the same key as the previous row: ["north","2025-01-01"]'],
  },
  'rows out of order': {
    content: lines([second, north, south]),
    errors: ['readings.ndjson:2: station+day: must come after ["north","2025-01-02"]: rows must be in key order'],
  },
  'a reference to nothing': {
    content: lines([north, { ...south, station: 'west' }]),
    errors: ['readings.ndjson:2: station: refers to west, which is not in "stations"'],
  },
  'a number beyond doubles': {
    content: '{"station":"north","day":"2025-01-01","low":1,"high":1e999}\n',
    errors: ['readings.ndjson:1: high: must be a finite number'],
  },
  'the word NaN': {
    content: `${lines([north])}{"station":"north","day":"2025-01-02","low":NaN,"high":1}\n`,
    errors: [
      'readings.ndjson:2: is not JSON, column 45: expected a value; JSON has no NaN or infinities: use null, or omit the row',
    ],
  },
  'a day that is not in the calendar': {
    content: lines([{ ...north, day: '2025-02-29' }, second, south]),
    errors: ['readings.ndjson:1: day: must be a calendar date, YYYY-MM-DD, not "2025-02-29"'],
  },
  'a violated rule of the collection': {
    content: lines([{ ...north, low: 7 }]),
    errors: ['readings.ndjson:1: low: must not be above high'],
  },
  'a truncated line': {
    content: `${lines([north])}{"station":"north","da`,
    errors: [
      'readings.ndjson:2: is not JSON, column 20: a string is not closed, or contains a character that must be escaped (the file ends within this line: it was cut short)',
    ],
  },
  'two documents in one line, and one document in two lines': {
    content: `${JSON.stringify(north)}${JSON.stringify(second)}\n{"station":"south",\n"day":"2025-01-01","low":4,"high":9}\n`,
    errors: [
      'readings.ndjson:1: is not JSON, column 59: expected nothing more',
      'readings.ndjson:2: is not JSON, column 20: the text ends where a name in double quotes is expected',
      'readings.ndjson:3: is not JSON, column 6: expected nothing more',
    ],
  },
  'two documents in one line with a comma, which make one array': {
    content: `${JSON.stringify(north)},${JSON.stringify(second)}\n`,
    errors: ['readings.ndjson:1: is not JSON, column 59: expected nothing more'],
  },
  'a line broken at a comma inside a string, and the next line after a comma': {
    content: `{"station":"north\n day","day":"2025-01-01","low":1,"high":2},${JSON.stringify(second)}\n`,
    errors: [
      'readings.ndjson:1: is not JSON, column 12: a string is not closed, or contains a character that must be escaped',
      'readings.ndjson:2: is not JSON, column 2: expected a value',
    ],
  },
  'a line break inside a list, and a line with two documents': {
    content: `${JSON.stringify(north)},${JSON.stringify(second)}\n{"list":[{"a":1}\n{"b":2}]}\n`,
    errors: [
      'readings.ndjson:1: is not JSON, column 59: expected nothing more',
      'readings.ndjson:2: is not JSON, column 17: the text ends where "," or "]" is expected',
      'readings.ndjson:3: is not JSON, column 8: expected nothing more',
    ],
  },
  'a repeated name in a row, once escaped': {
    content: '{"station":"north","day":"2025-01-01","low":1,"l\\u006fw":2,"high":2}\n',
    errors: ['readings.ndjson:1: is not JSON, column 47: the name "l\\u006fw" is repeated in this object'],
  },
  'a row with a million names': {
    content: `{"station":"north"${Array.from({ length: 1_000_000 }, (_, i) => `,"k${i}":1`).join('')}}\n`,
    errors: ['readings.ndjson:1: has more than 20,000 property names'],
  },
  'a row with a million values': {
    content: `{"station":[${'1,'.repeat(1_000_000)}1]}\n`,
    errors: ['readings.ndjson:1: has more than 100,000 values'],
  },
  'a row that ends inside 100,000 brackets': {
    content: `{"station":${'['.repeat(100_000)}\n`,
    errors: ['readings.ndjson:1: has more than 100 levels of objects and arrays'],
  },
  'empty lines': {
    content: `${JSON.stringify(north)}\n\n${JSON.stringify(second)}\n \n`,
    errors: [
      'readings.ndjson:2: is empty: each line must be one JSON document',
      'readings.ndjson:4: is empty: each line must be one JSON document',
    ],
  },
  'lines that are not objects': {
    content: '[1]\n5\nnull\n"text"\n',
    errors: [1, 2, 3, 4].map((line) => `readings.ndjson:${line}: must be a JSON object`),
  },
  'a JSON array over several lines': {
    content: '[\n  {"station":"north","day":"2025-01-01","low":1,"high":2}\n]\n',
    errors: [
      'readings.ndjson:1: is not JSON, column 2: the text ends where a value is expected',
      'readings.ndjson:3: is not JSON, column 1: expected a value',
    ],
  },
  'a CSV file': {
    content: 'station,day,low,high\nnorth,2025-01-01,1,2\n',
    errors: [1, 2].map((line) => `readings.ndjson:${line}: is not JSON, column 1: expected a value`),
  },
  'another encoding, Latin-1': {
    content: Buffer.from(`${lines([north])}{"station":"Nørre","day":"2025-01-01","low":1,"high":2}\n`, 'latin1'),
    errors: ['readings.ndjson:2: is not UTF-8'],
  },
  'another encoding, UTF-16': {
    content: Buffer.from(`\uFEFF${lines([north])}`, 'utf16le'),
    errors: [
      'readings.ndjson:1: is not UTF-8',
      // In UTF-16, a line feed has two bytes, and the second one starts the next line.
      'readings.ndjson:2: is not JSON, column 1: expected a value (the file ends within this line: it was cut short)',
    ],
  },
  'a field named __proto__': {
    content: '{"station":"north","day":"2025-01-01","low":1,"high":2,"__proto__":{"low":5}}\n',
    errors: ['readings.ndjson:1: __proto__: is not a known field'],
  },
  'a line of 17 MiB': {
    content: `${lines([north])}{"station":"${'x'.repeat(17 * 1024 * 1024)}"}\n`,
    errors: ['readings.ndjson:2: is longer than 16,777,216 bytes: each line must be one JSON document'],
  },
};

const wrongManifests: Record<string, { manifest: object; errors: string[] }> = {
  'a wrong number of rows': {
    manifest: {
      collections: { stations: { file: 'stations.ndjson', rows: 3 }, readings: { file: 'readings.ndjson' } },
    },
    errors: ['stations.ndjson: has 2 rows, but the manifest says 3: it was cut short or changed'],
  },
  'another checksum': {
    manifest: {
      collections: {
        stations: { file: 'stations.ndjson', rows: 2, sha256: 'a'.repeat(64) },
        readings: { file: 'readings.ndjson' },
      },
    },
    errors: ['stations.ndjson: does not match the sha256 in the manifest: it was changed, or is being written'],
  },
  'a missing file': {
    manifest: { collections: { stations: { file: 'stations.ndjson' }, readings: { file: 'gone.ndjson' } } },
    errors: ['gone.ndjson: cannot be read: it does not exist, or its folder does not'],
  },
  'a directory instead of a file': {
    manifest: { collections: { stations: { file: 'stations.ndjson' }, readings: { file: 'folder' } } },
    errors: ['folder: cannot be read: it is a folder; name a file in it'],
  },
  'a collection mistyped': {
    manifest: { collections: { station: { file: 'stations.ndjson' }, readings: { file: 'readings.ndjson' } } },
    errors: [
      'manifest.json: collections.stations: is missing; there is "station"',
      ...[1, 2, 3].map(
        (row) =>
          `readings.ndjson:${row}: station: refers to ${row < 3 ? 'north' : 'south'}, which is not in "stations"`,
      ),
    ],
  },
};

const source = (id: string) => ({
  id,
  title: id,
  cadence: 'daily',
  latest_period: null,
  last_loaded_at: null,
  late_after_seconds: 1,
  stale_after_seconds: 2,
});

const noManifests: Record<string, { text: string | Buffer; errors: string[] }> = {
  'another format': {
    text: '{"format":99,"other":1}',
    errors: ['manifest.json: format: is 99, but this version of the program reads only format 1'],
  },
  'a manifest that is not JSON': {
    text: '{\n  "format": 1,\n  "version": one\n}',
    errors: ['manifest.json:3: is not JSON, column 14: expected a value'],
  },
  'a repeated name in the manifest': {
    text: '{"format": 1, "format": 1}',
    errors: ['manifest.json:1: is not JSON, column 15: the name "format" is repeated in this object'],
  },
  'a manifest with 100,000 brackets': {
    text: '['.repeat(100_000),
    errors: ['manifest.json:1: is not JSON, column 101: there are more than 100 levels of objects and arrays'],
  },
  'a manifest with a million names': {
    text: `{"sources":[${'{"a":1},'.repeat(120_000)}{}]}`,
    errors: ['manifest.json: has more than 100000 property names'],
  },
  'a manifest in another encoding': {
    text: Buffer.from('{"version":"é"}', 'latin1'),
    errors: ['manifest.json: is not UTF-8'],
  },
  'an empty manifest': {
    text: '',
    errors: ['manifest.json:1: is not JSON, column 1: the text ends where a value is expected'],
  },
  'paths that lead out of the directory': {
    text: JSON.stringify({
      ...manifestOf(),
      collections: { stations: { file: '../stations.ndjson' }, readings: { file: '/etc/passwd' } },
    }),
    errors: ['"../stations.ndjson"', '"/etc/passwd"'].map(
      (value, i) =>
        `manifest.json: collections.${['stations', 'readings'][i]}.file: must be a string, matching ^[A-Za-z0-9][A-Za-z0-9._-]*$, not ${value}`,
    ),
  },
  'several errors of the manifest': {
    text: JSON.stringify({ ...manifestOf(), version: 'a b', vintage: '2025-02-29', synthetics: true, collections: {} }),
    errors: [
      'manifest.json: synthetics: is not a known field; did you mean "synthetic"?',
      'manifest.json: version: must be a string, matching ^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$, not "a b"',
      'manifest.json: vintage: must be a calendar date, YYYY-MM-DD, not "2025-02-29"',
    ],
  },
  'a time with a leap second, which JavaScript does not support': {
    text: JSON.stringify({ ...manifestOf('one', '2016-12-31T23:59:60Z'), collections: {} }),
    errors: ['manifest.json: created: must be a time without a leap second'],
  },
  'two sources with the same id': {
    text: JSON.stringify({ ...manifestOf(), sources: ['a', 'b', 'a'].map(source), collections: {} }),
    errors: ['manifest.json: sources[2].id: repeats the id of an earlier source'],
  },
};

describe('an invalid dataset', () => {
  const folder = eachInFolder();

  const errorsOf = async (): Promise<string[]> => {
    const { dataset } = await openDirectory(folder.path);
    return (await checkDataset(dataset, collections)).kept.map(formatDataError);
  };

  for (const [what, { content, errors }] of Object.entries(wrongReadings)) {
    it(`reports ${what}`, async () => {
      await writeByHand(folder.path, { 'readings.ndjson': content });
      expect(await errorsOf()).to.deep.equal(errors);
    });
  }

  for (const [what, { manifest, errors }] of Object.entries(wrongManifests)) {
    it(`reports a manifest with ${what}`, async () => {
      await writeByHand(folder.path, {}, manifest);
      await mkdir(join(folder.path, 'folder'));
      expect(await errorsOf()).to.deep.equal(errors);
    });
  }

  for (const [what, { text, errors }] of Object.entries(noManifests)) {
    it(`reports ${what}`, async () => {
      await writeByHand(folder.path);
      await writeFile(join(folder.path, 'manifest.json'), text);
      const error = await openDirectory(folder.path).catch((reason) => reason);
      expect(error).to.be.instanceOf(StorageError);
      expect(error).to.have.property('code', 'invalid_dataset');
      expect(error.message.split('\n  - ').slice(1)).to.deep.equal(errors);
    });
  }

  it('reports a missing manifest', async () => {
    await writeByHand(folder.path);
    await rm(join(folder.path, 'manifest.json'));
    const error = await openDirectory(folder.path).catch((reason) => reason);
    expect(error.message).to.match(/manifest\.json cannot be read: it does not exist/);
  });

  it('reports a path that continues after a file', async () => {
    await writeByHand(folder.path);
    const error = await openDirectory(join(folder.path, 'manifest.json', 'data')).catch((reason) => reason);
    expect(error).to.have.property('code', 'invalid_dataset');
    expect(error.message).to.match(/manifest\.json cannot be read: a part of its path is not a folder/);
  });

  it('reports all errors of all files together, each with file and line', async () => {
    await writeByHand(folder.path, {
      'stations.ndjson':
        '{"id":"north","name":""}\nnonsense\n{"id":"south","name":"South"}\n{"id":"east","name":"E"}\n',
      'readings.ndjson': lines([north, { ...second, low: null }, { ...south, high: 1 }]),
    });
    expect(await errorsOf()).to.deep.equal([
      'stations.ndjson:2: is not JSON, column 1: expected a value',
      'stations.ndjson:1: name: must be a string that is not empty, not ""',
      'stations.ndjson:4: id: must come after south: rows must be in key order',
      'readings.ndjson:1: station: refers to north, which is not in "stations"',
      'readings.ndjson:2: low: must be a number, not null',
      'readings.ndjson:3: low: must not be above high',
    ]);
  });

  it('does not change the prototypes of objects', async () => {
    await writeByHand(folder.path, {
      'stations.ndjson':
        '{"id":"north","name":"N","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}\n',
    });
    expect(await errorsOf()).to.include('stations.ndjson:1: constructor: is not a known field');
    expect(({} as { polluted?: boolean }).polluted).to.equal(undefined);
  });
});
