/** loadNote(measured): whether a benchmark measured the servers, or what loaded them. */
import { expect } from 'chai';
import { loadNote, outcomeColumns, outcomeRows } from '../../bench/outcome-table.js';
import type { Outcome } from '../../bench/turns.js';

/** At 10,000 requests/s a microsecond for each is a hundredth of a core. */
const outcome = (cpu: number, loadCpu: number, redisCpu: number): Outcome => ({
  ...{ requestsPerSecond: 10_000, spread: 0.01, p50: 1, p99: 2 },
  ...{ cpu, loadCpu, redisCpu },
});

describe('loadNote(measured)', () => {
  it('names who was limited by the load, and whose cores nobody used up', () => {
    const first = new Map([
      ['busy', outcome(99, 30, 20)],
      ['waiting', outcome(40, 60, 39)],
    ]);
    const second = new Map([['disturbed', outcome(50, 20, 0)]]);
    expect(loadNote([first, second])).to.equal(
      'wrk and Redis used at most 99.0% of their core, and limited, with more than 95.0%: waiting. Less than 95.0% of ' +
        'both cores, since others had the machine or both waited: disturbed.',
    );
    expect(loadNote([new Map([['busy', outcome(99, 30, 20)]])])).to.include('limited, with more than 95.0%: nobody.');
  });
});

describe('outcomeRows(outcomes, ratios)', () => {
  it('has a cell for each column, and none where there is nobody to compare with', () => {
    const outcomes = new Map([['one', outcome(80, 30, 20)]]);
    const [row] = outcomeRows(outcomes, ['one', 'absent']);
    expect(row).to.deep.equal(['one', 10_000, '1.0%', 1, null, 80, 20, '80.0%', '50.0%']);
    expect(outcomeColumns(['one', 'absent'])).to.have.length(row!.length);
  });
});
