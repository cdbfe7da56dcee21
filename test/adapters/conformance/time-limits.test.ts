import { mock } from 'node:test';
import { LOCK_MS, patiently, withTimeLimits } from '../../../adapters/conformance/time-limits.js';

const STEP_MS = 5000;

describe('the time limits of the conformance suite', () => {
  it('let every call wait until the lock of a killed process has expired', async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const target = withTimeLimits({
      name: 'waiting',
      capabilities: { publish: true, versions: true },
      create: () => finished as never,
      createEmpty: () => ({ open: () => finished }) as never,
    });
    const adapter = await target.createEmpty!(undefined as never);
    mock.timers.enable({ apis: ['setTimeout'] });
    // If the clock stands still, `slowness()` returns 1, and no time limit is extended.
    mock.method(performance, 'now', () => 0);
    try {
      const opening = patiently(() => adapter.open());
      opening.catch(() => {});
      for (let passed = 0; passed < LOCK_MS; passed += STEP_MS) mock.timers.tick(STEP_MS);
      finish();
      await opening;
    } finally {
      mock.timers.reset();
      mock.restoreAll();
    }
  });
});
