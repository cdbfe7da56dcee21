import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { type InstalledPackage, installedPackages, PERMISSIVE } from '../support/licences.js';

const read = (name: string) => readFile(join(packageRoot, name), 'utf8');

describe('runtime dependencies', () => {
  let packages: readonly InstalledPackage[];
  before(async () => {
    packages = (await installedPackages()).filter(({ development }) => !development);
  });

  it('are exactly the packages that docs/explanation/dependencies.md lists with a reason', async () => {
    const { dependencies } = JSON.parse(await read('package.json'));
    const rows = (await read('docs/explanation/dependencies.md')).matchAll(/^\| `([^`]+)` \| (.{20,}) \|$/gm);
    expect([...rows].map(([, name]) => name).sort()).to.deep.equal(Object.keys(dependencies).sort());
  });

  it('have permissive licences, including transitive dependencies', () => {
    expect(packages.length).to.be.above(50);
    expect(packages.filter(({ licence }) => !PERMISSIVE.has(licence))).to.deep.equal([]);
  });

  it('have no install scripts', () => {
    expect(packages.filter(({ installScript }) => installScript)).to.deep.equal([]);
  });
});
