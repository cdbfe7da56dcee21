import { assert } from 'chai';
import type { SharedCache } from '../../../core/contracts/cache.js';

interface CacheHarness {
  readonly replicas: readonly SharedCache[];
  wait(ms: number): Promise<void>;
}

let names = 0;
const fresh = (): string => `value-${++names}`;

export const controlledBuild = () => {
  let builds = 0;
  let end: ((value: string) => void) | undefined;
  let fail: ((error: Error) => void) | undefined;
  return {
    build: () => {
      builds++;
      return new Promise<string>((resolve, reject) => {
        end = resolve;
        fail = reject;
      });
    },
    get builds() {
      return builds;
    },
    end: (value: string) => end?.(value),
    fail: () => fail?.(new Error('the build failed')),
  };
};

export const defineCacheSuite = (title: string, make: () => Promise<CacheHarness>): void => {
  describe(`${title} as a shared cache`, () => {
    let replicas: readonly SharedCache[];
    let wait: CacheHarness['wait'];

    before(async () => {
      ({ replicas, wait } = await make());
    });

    const first = () => replicas[0] as SharedCache;

    it('builds a missing value once for 500 concurrent requests on each replica', async () => {
      const name = fresh();
      let builds = 0;
      const build = async () => {
        builds++;
        await wait(20);
        return 'built';
      };
      const results = await Promise.all(
        replicas.flatMap((cache) => Array.from({ length: 500 }, () => cache.getOrBuild(name, 60, build))),
      );
      assert.equal(builds, 1);
      assert.isTrue(results.every(({ value }) => value === 'built'));
    });

    it('returns a value with its age until it expires, then builds it again', async () => {
      const name = fresh();
      let builds = 0;
      const get = (cache: SharedCache) => cache.getOrBuild(name, 0.5, async () => `build ${++builds}`);
      assert.equal((await get(first())).value, 'build 1');
      await wait(300);
      for (const cache of replicas) {
        const { value, ageSeconds } = await get(cache);
        assert.equal(value, 'build 1');
        assert.isAtLeast(ageSeconds, 0.29);
        assert.isBelow(ageSeconds, 0.5);
      }
      await wait(250);
      assert.equal((await get(first())).value, 'build 2');
    });

    it('returns the previous value immediately while a new value is built', async () => {
      const name = fresh();
      await first().getOrBuild(name, 0.05, async () => 'old');
      await wait(60);
      const rebuild = controlledBuild();
      const building = first().getOrBuild(name, 0.05, rebuild.build);
      await wait(20);
      for (const cache of replicas) {
        const { value, ageSeconds } = await cache.getOrBuild(name, 0.05, rebuild.build);
        assert.equal(value, 'old');
        assert.isAtLeast(ageSeconds, 0.05);
      }
      rebuild.end('new');
      assert.equal((await building).value, 'new');
      assert.equal(rebuild.builds, 1);
    });

    it('returns an expired value after a failed build, and does not retry immediately', async () => {
      const name = fresh();
      await first().getOrBuild(name, 0.05, async () => 'old');
      await wait(60);
      let builds = 0;
      const fail = async () => {
        builds++;
        throw new Error('the build failed');
      };
      for (let i = 0; i < 20; i++) assert.equal((await first().getOrBuild(name, 0.05, fail)).value, 'old');
      assert.equal(builds, 1);
    });

    it('rejects if the first build fails, and builds again for the next request', async () => {
      const name = fresh();
      const error = await first()
        .getOrBuild(name, 60, () => Promise.reject(new Error('the build failed')))
        .then(
          () => undefined,
          (reason: Error) => reason,
        );
      assert.equal(error?.message, 'the build failed');
      assert.equal((await first().getOrBuild(name, 60, async () => 'second')).value, 'second');
    });

    it('has a separate value for each name', async () => {
      const [a, b] = [fresh(), fresh()];
      await first().getOrBuild(a, 60, async () => 'a');
      assert.equal((await first().getOrBuild(b, 60, async () => 'b')).value, 'b');
    });
  });
};
