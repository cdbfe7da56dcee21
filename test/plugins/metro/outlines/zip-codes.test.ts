import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { metroAreas } from '../../../../plugins/metro/areas.js';
import { geoNamesZipCodes, zipCodesByArea } from '../../../../plugins/metro/outlines/zip-codes.js';

describe('the ZIP codes of the explorer’s search', () => {
  let served: string;
  const metros = new Map<number, string>();
  before(async () => {
    served = await readFile(join(packageRoot, 'plugins/metro/explorer/browser/zip-codes.json'), 'utf8');
    for (const [cbsa, steps] of Object.entries<string>(JSON.parse(served).areas)) {
      let zip = 0;
      for (const step of steps.split(' ').map(Number)) {
        expect(step, cbsa).to.be.above(0);
        zip += step;
        expect(metros.has(zip), `${zip} twice`).to.equal(false);
        metros.set(zip, cbsa);
      }
    }
  });

  for (const [zip, cbsa] of [
    [83702, '14260'],
    [77002, '26420'],
    [10001, '35614'],
    [94103, '41884'],
    [2139, '15764'],
    [901, '41980'],
    [6103, '25540'],
    [6604, '14860'],
    [6510, '35300'],
  ] as const) {
    const name = metroAreas.get(cbsa)!.name;
    it(`finds ${name} by ${String(zip).padStart(5, '0')}`, () => expect(metros.get(zip)).to.equal(cbsa));
  }

  it('covers every metro or its divisions', () => {
    const withZips = new Set(metros.values());
    const missing = [...metroAreas.values()].filter(
      ({ cbsa, divisions }) => divisions.length === 0 && !withZips.has(cbsa),
    );
    expect(missing).to.deep.equal([]);
    expect(metros.size).to.be.above(18_000);
  });

  it('are at most 30 kB compressed', () => expect(gzipSync(served).length).to.be.below(30_000));

  it('are joined by county, without ZIP codes that have no county or are outside of metros', () => {
    const areas = zipCodesByArea([
      { zip: '83709', county_fips: '16001' },
      { zip: '83702', county_fips: '16001' },
      { zip: '83701', county_fips: null },
      { zip: '99553', county_fips: '02013' },
    ]);
    expect(areas).to.deep.equal({ '14260': '83702 7' });
  });

  it('are read from GeoNames for a single state', () => {
    const text =
      'US\t06103\tHartford\tConnecticut\tCT\tCapitol Region\t110\nUS\t10001\tNew York\tNew York\tNY\tNew York\t061\n';
    expect(geoNamesZipCodes(text, 'CT', '09')).to.deep.equal([{ zip: '06103', county_fips: '09110' }]);
  });
});
