import { expect } from 'chai';
import { checkMutations, mutationSeed } from './mutations.js';

const seed = mutationSeed();

describe('a dataset directory with random damage', () => {
  it(`is rejected with file and line, or served as written: 400 directories, seed ${seed}`, async function () {
    this.timeout(60_000);
    const valid = await checkMutations(400, seed);
    expect(valid, 'valid directories').to.be.within(5, 200);
  });
});
