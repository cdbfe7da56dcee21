import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../adapters/conformance/expect.js';
import { Poller } from '../../adapters/mongo/polling.js';
import { gate } from './mongo-replica.js';

const NEVER = 3_600_000;

describe('Poller', () => {
  let poller: Poller;
  afterEach(() => poller.stop());

  it('repeats after the first run', async () => {
    let runs = 0;
    poller = new Poller(5, async () => {
      runs++;
    });
    await delay(20);
    expect(runs).to.equal(0);
    await poller.poll();
    await eventually('it has run three times', () => runs >= 3, 2000);
  });

  it('runs immediately on request, and restarts its interval', async () => {
    let runs = 0;
    poller = new Poller(NEVER, async () => {
      runs++;
    });
    await poller.poll();
    await poller.poll();
    await delay(20);
    expect(runs).to.equal(2);
  });

  it('never runs twice at the same time, and all requests during a run share the next run', async () => {
    const gates = [gate(), gate(), gate()];
    let [runs, running, most] = [0, 0, 0];
    poller = new Poller(NEVER, async () => {
      most = Math.max(most, ++running);
      await gates[runs++]!.passed;
      running--;
    });
    const first = poller.poll();
    let after = 0;
    const others = [poller.poll(), poller.poll()].map((polled) => polled.then(() => after++));
    gates[0]!.open();
    await first;
    expect(after).to.equal(0);
    gates[1]!.open();
    await Promise.all(others);
    expect({ runs, most, after }).to.deep.equal({ runs: 2, most: 1, after: 2 });
    gates[2]!.open();
    await poller.poll();
    expect(runs).to.equal(3);
  });

  it('stop() lets the current run finish and prevents further runs', async () => {
    const { passed, open } = gate();
    let [begun, ended] = [0, 0];
    poller = new Poller(1, async () => {
      begun++;
      await passed;
      ended++;
    });
    void poller.poll();
    const next = poller.poll();
    const stopped = poller.stop();
    open();
    await stopped;
    expect(ended).to.equal(1);
    await next;
    await poller.poll();
    await delay(20);
    expect(begun).to.equal(1);
  });
});
