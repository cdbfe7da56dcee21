/** More and longer runs of the limiter's protocol than `protocol.test.ts` has time for. */
import { assert } from 'chai';
import fc from 'fast-check';
import { run, search, WORLDS, type World } from './protocol-model.js';

describe('the protocol of replicas and Redis, at length', function () {
  this.timeout(600_000);

  for (const [name, world] of Object.entries<World>(WORLDS)) {
    it(`${name}: every run of up to five actions counts each request once, and passes no more than the limit`, () => {
      assert.isUndefined(search(world, 5)?.run);
    });

    for (const maxLength of [12, 60]) {
      it(`${name}: any run of up to ${maxLength} actions does`, () => {
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
