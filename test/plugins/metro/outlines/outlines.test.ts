import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { metroAreas } from '../../../../plugins/metro/areas.js';
import { buildOutlines, countiesByArea, type Outlines } from '../../../../plugins/metro/outlines/outlines.js';

const CONNECTICUT = ['14860', '25540', '35300', '35980', '47930'];

describe('the explorer’s map', () => {
  let served: string;
  let map: Outlines;
  before(async () => {
    served = await readFile(join(packageRoot, 'plugins/metro/explorer/browser/map.json'), 'utf8');
    map = JSON.parse(served);
  });

  it('equals the output of `npm run generate`, in less than 150 kB', async () => {
    expect(served === `${JSON.stringify(await buildOutlines())}\n`, 'run `npm run generate`').to.equal(true);
    expect(served.length).to.be.below(150_000);
  });

  it('has every metro and division except in Puerto Rico, which is outside the projection', () => {
    const missing = [...metroAreas.keys()].filter((cbsa) => !map.areas[cbsa]);
    expect(missing.map((cbsa) => metroAreas.get(cbsa)?.states.join())).to.deep.equal(missing.map(() => 'PR'));
  });

  it('has outlines of all metros except in Connecticut, whose planning regions are newer than the atlas', () => {
    const points = Object.keys(map.areas).filter((cbsa) => map.areas[cbsa]![0] === '');
    expect(points).to.deep.equal(CONNECTICUT);
  });

  it('places every metro inside the picture', () => {
    const [width, height] = map.size;
    for (const [cbsa, [, x, y]] of Object.entries(map.areas)) {
      expect(x, cbsa).to.be.within(0, width);
      expect(y, cbsa).to.be.within(0, height);
    }
  });

  it('puts no county in two metros', () => {
    const counties = [...countiesByArea.values()].flat();
    expect(new Set(counties).size).to.equal(counties.length);
    for (const county of counties) expect(county).to.match(/^\d{5}$/);
  });
});
