import { assert } from 'chai';
import fc from 'fast-check';
import { run, search, WORLDS, type World } from './protocol-model.js';

describe('the limiter protocol, long runs', function () {
  this.timeout(600_000);

  for (const [name, world] of Object.entries<World>(WORLDS)) {
    it(`${name}: every run of up to 5 actions keeps the invariants`, () => {
      assert.isUndefined(search(world, 5)?.run);
    });

    for (const maxLength of [12, 60]) {
      it(`${name}: 100,000 random runs of up to ${maxLength} actions keep the invariants`, () => {
        const actions = fc.array(fc.constantFrom(...world.actions), { minLength: 5, maxLength });
        fc.assert(
          fc.property(actions, (actions) => {
            run(world, actions);
          }),
          { numRuns: 100_000 },
        );
      });
    }
  }
});
