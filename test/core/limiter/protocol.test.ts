/**
 * The protocol between replicas and Redis as a model: two replicas with the real `Shard`, `Subject` and `SlidingLog`, a
 * Redis by `decide-model.ts` (which `decide-script.test.ts` compares with the script), and a network that loses, delays
 * and repeats. Every short run and many long ones keep the invariant; versions broken on purpose do not.
 */
import { assert } from 'chai';
import fc from 'fast-check';
import { type Fault, type Run, run, search, WORLDS, type World } from './protocol-model.js';

const shown = (found: { run: Run; error: unknown } | undefined) =>
  found && `${JSON.stringify(found.run)}: ${(found.error as Error).message}`;

/** Where a fault shows within a few actions, every time. */
const faults: readonly { readonly fault: Fault; readonly world: keyof typeof WORLDS }[] = [
  { fault: 'applies calls that come late or twice', world: 'two at once' },
  { fault: 'does not notice that it has lost calls', world: 'two at once' },
  { fault: 'adds what it is told to what it has counted', world: 'two at once' },
  { fault: 'counts what it refuses', world: 'two at once' },
  { fault: 'drops a bucket when its beginning has left the window', world: 'one and a slot ahead' },
  { fault: 'tells while a call is in flight', world: 'two at once' },
  { fault: 'does not tell after a lost reply', world: 'two at once' },
  { fault: 'does not tell after a time alone', world: 'two at once' },
  { fault: 'keeps its id when it starts again', world: 'two at once' },
  { fault: 'uses slots after their bucket is over', world: 'one and a slot ahead' },
  { fault: 'gives back slots that were used', world: 'one and a slot ahead' },
];

describe('the protocol of replicas and Redis', function () {
  this.timeout(60_000);

  for (const [name, world] of Object.entries<World>(WORLDS)) {
    describe(name, () => {
      it('every short run counts each request once, and passes no more than the limit', () => {
        assert.isUndefined(shown(search(world, 4)));
      });

      it('any long run does', () => {
        fc.assert(
          fc.property(fc.array(fc.constantFrom(...world.actions), { minLength: 5, maxLength: 30 }), (actions) => {
            run(world, actions);
          }),
          { numRuns: 2000, endOnFailure: true },
        );
      });
    });
  }

  for (const { fault, world } of faults) {
    it(`a version is found out that ${fault}`, () => {
      assert.isDefined(search(WORLDS[world], 4, fault));
    });
  }
});
