import { expect } from 'chai';
import { BARE, FASTIFY, OTHER, SERVICE } from '../../bench/contenders.js';
import { loadNote, outcomeTable } from '../../bench/sections.js';

const outcome = (requestsPerSecond: number, serverCpu: number, loadCpu: number, redisCpu: number) => ({
  ...{ requestsPerSecond, spread: 0.01, serverCpu, loadCpu, redisCpu },
});
const outcomes = new Map([
  [SERVICE, outcome(10_000, 80, 30, 20)],
  [FASTIFY, outcome(2000, 400, 40, 60)],
]);

describe('outcomeTable(title, outcomes)', () => {
  it('compares requests per second with the references that were measured', () => {
    const { columns, rows } = outcomeTable('title', outcomes);
    expect(columns.slice(3, 5)).to.deep.equal([`x ${FASTIFY}`, 'CPU, microseconds']);
    expect(rows).to.deep.equal([
      [SERVICE, 10_000, '1.0%', 5, 80, 20, '80.0%', '50.0%'],
      [FASTIFY, 2000, '1.0%', 1, 400, 60, '80.0%', '20.0%'],
    ]);
  });

  it('adds a column for node:http and for the other version', () => {
    const all = new Map([...outcomes, [BARE, outcome(20_000, 40, 20, 0)], [OTHER, outcome(8000, 100, 30, 20)]]);
    const { columns, rows } = outcomeTable('title', all);
    expect(columns.slice(3, 6)).to.deep.equal([`x ${FASTIFY}`, `x ${BARE}`, `x ${OTHER}`]);
    expect(rows[0]!.slice(3, 6)).to.deep.equal([5, 0.5, 1.25]);
  });
});

describe('loadNote(measured)', () => {
  it('reports the largest share of the load core that wrk and Redis used', () => {
    expect(loadNote([outcomes])).to.equal('wrk and Redis used at most 50.0% of their core.');
  });
});
