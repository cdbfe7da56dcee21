import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { fc, holds, SEED } from '../../../adapters/conformance/property.js';

describe('holds()', () => {
  const check = (test: (value: number) => Promise<void>, limitMs?: number) =>
    holds(fc!.nat(1000), 100, test, (value) => `the number ${value}`, SEED, limitMs).then(
      () => 'resolved',
      (error: Error) => error.message,
    );
  const isSmall = async (value: number) => {
    if (value > 10) throw new Error('too large');
  };

  it('resolves if the property holds', async () => {
    expect(await check(async () => {})).to.equal('resolved');
  });

  it('rejects with the smallest counterexample', async () => {
    expect(await check(isSmall))
      .to.include('too large')
      .and.include('the number 11');
  });

  it('waits for the first example if the time limit interrupts it', async () => {
    let ended = 0;
    const pause = async () => {
      await delay(50);
      ended++;
    };
    expect(await check(pause, 1)).to.equal('resolved');
    expect(ended).to.equal(1);
  });

  it('rejects if the first example fails after the time limit', async () => {
    const fail = async () => {
      await delay(50);
      throw new Error('too late');
    };
    expect(await check(fail, 1))
      .to.include('too late')
      .and.include('the number ');
  });
});
