import { expect } from 'chai';
import { checkMutations, mutationSeed } from './mutations.js';

const seed = mutationSeed();

describe('a dataset directory with random damage', () => {
  it(`is rejected with file and line, or served as written: 10,000 directories, seed ${seed}`, async function () {
    this.timeout(600_000);
    const valid = await checkMutations(10_000, seed);
    expect(valid, 'valid directories').to.be.within(200, 5000);
  });
});
