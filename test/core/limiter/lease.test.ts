/** Slots that one replica may use without asking: never more than were leased, and not for longer. */
import { expect } from 'chai';
import { Lease, NO_LEASE, type NumberedGrant } from '../../../core/limiter/lease.js';

const LIMIT = 6000;
const GRAIN = 1000;

const grant = (change: Partial<NumberedGrant> = {}): NumberedGrant => ({
  call: 7,
  limit: LIMIT,
  sent: 10_000,
  admitted: 2,
  remaining: 90,
  resetMs: 4000,
  leased: { count: 3, stamp: 5 },
  leaseMs: 600,
  ...change,
});

const started = (change?: Partial<NumberedGrant>): Lease => {
  const lease = new Lease();
  lease.start(grant(change));
  return lease;
};

describe('Lease', () => {
  it('has nothing before the first call', () => {
    const lease = new Lease();
    expect(lease.call).to.equal(0);
    expect(lease.left).to.equal(0);
    expect(lease.until).to.equal(Number.NEGATIVE_INFINITY);
    expect(lease.take(0, LIMIT)).to.equal(undefined);
    expect(lease.ahead(0, GRAIN)).to.equal(0);
    expect(lease.end()).to.deep.equal(NO_LEASE);
  });

  it('tells with each slot how many more would pass, and when the first comes back, counted from the call', () => {
    const lease = started();
    expect(lease.call).to.equal(7);
    expect(lease.take(10_000, LIMIT)).to.deep.equal({ allowed: true, limit: LIMIT, remaining: 92, resetMs: 4000 });
    expect(lease.take(10_250, LIMIT)).to.deep.equal({ allowed: true, limit: LIMIT, remaining: 91, resetMs: 3750 });
    expect(lease.left).to.equal(1);
    expect(lease.take(10_599, LIMIT)).to.deep.equal({ allowed: true, limit: LIMIT, remaining: 90, resetMs: 3401 });
    expect(lease.take(10_599, LIMIT)).to.equal(undefined);
  });

  it('never tells of a time that is over', () => {
    expect(started({ resetMs: 100 }).take(10_500, LIMIT)?.resetMs).to.equal(0);
  });

  it('is over with its grain, and not good for another limit', () => {
    const lease = started();
    expect(lease.until).to.equal(10_600);
    expect(lease.take(10_600, LIMIT)).to.equal(undefined);
    expect(lease.take(10_000, LIMIT - 1)).to.equal(undefined);
    expect(lease.left).to.equal(3);
  });

  it('gives back once what was not used', () => {
    const lease = started();
    lease.take(10_000, LIMIT);
    expect(lease.end()).to.deep.equal({ count: 2, stamp: 5 });
    expect(lease.end()).to.deep.equal(NO_LEASE);
    expect(lease.take(10_000, LIMIT)).to.equal(undefined);
  });

  it('asks for twice of what was used, the call itself included, until a grain after its end', () => {
    const lease = started();
    expect(lease.ahead(10_000, GRAIN)).to.equal(4);
    lease.take(10_000, LIMIT);
    expect(lease.ahead(10_599 + GRAIN, GRAIN)).to.equal(6);
    expect(lease.ahead(10_600 + GRAIN, GRAIN)).to.equal(0);
  });
});
