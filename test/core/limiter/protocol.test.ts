/**
 * Model-checks the protocol of the limiter. Two replicas run the real code. The model in `decide-model.ts` replaces the
 * Redis script, and `script.test.ts` compares both. The network loses, delays and repeats calls.
 */
import { assert } from 'chai';
import fc from 'fast-check';
import { type Bug, type Run, run, search, WORLDS, type World } from './protocol-model.js';

const described = (found: { run: Run; error: unknown } | undefined) =>
  found && `${JSON.stringify(found.run)}: ${(found.error as Error).message}`;

const bugs: readonly { readonly bug: Bug; readonly world: keyof typeof WORLDS }[] = [
  { bug: 'applies calls that arrive late or twice', world: 'two requests' },
  { bug: 'does not notice that it lost calls', world: 'two requests' },
  { bug: 'adds a resync to what it has counted', world: 'two requests' },
  { bug: 'counts rejected requests', world: 'two requests' },
  { bug: 'drops a bucket when its start has left the window', world: 'one request and a prefetched permit' },
  { bug: 'resyncs while a call is in flight', world: 'two requests' },
  { bug: 'does not resync after a lost reply', world: 'two requests' },
  { bug: 'does not resync after a local decision', world: 'two requests' },
  { bug: 'keeps its id when it restarts', world: 'two requests' },
  { bug: 'uses prefetched permits after their bucket ended', world: 'one request and a prefetched permit' },
  { bug: 'returns permits that were used', world: 'one request and a prefetched permit' },
];

describe('the limiter protocol', function () {
  this.timeout(60_000);

  for (const [name, world] of Object.entries<World>(WORLDS)) {
    describe(name, () => {
      it('every run of up to 4 actions keeps the invariants', () => {
        assert.isUndefined(described(search(world, 4)));
      });

      it('2,000 random runs of up to 30 actions keep the invariants', () => {
        fc.assert(
          fc.property(fc.array(fc.constantFrom(...world.actions), { minLength: 5, maxLength: 30 }), (actions) => {
            run(world, actions);
          }),
          { numRuns: 2000, endOnFailure: true },
        );
      });
    });
  }

  it('a late call to an emptied Redis is undone by a resync after a window without calls', () => {
    const idle = [['half window'], ['half bucket'], ['half bucket'], ['half bucket'], ['half bucket']] as const;
    const lateCall = [['half window'], ['redis is emptied'], ['late']] as const;
    run(WORLDS['two requests'], [
      ['ask', 0, 'lost'],
      ['heal'],
      ['deliver', 0],
      ['decide locally', 0],
      ...lateCall,
      ...idle,
    ]);
  });

  for (const { bug, world } of bugs) {
    it(`finds a version that ${bug}`, () => {
      assert.isDefined(search(WORLDS[world], 4, bug));
    });
  }
});
