import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const script = fileURLToPath(new URL('./long-lists-main.js', import.meta.url));
/**
 * Memory limit in MB. The suite needs half of it for Node, mocha and its 66,000 documents. Without special handling of
 * long lists, `assert.deepEqual` used 23 GB on Node 22.
 */
const LIMIT_MB = 1200;

type Failures = readonly (readonly [title: string, message: string])[];

describe('the conformance suite with an adapter that returns wrong long lists', () => {
  let losing: Failures;
  let inventing: Failures;

  before(function () {
    this.timeout(60_000);
    const run = spawnSync(process.execPath, [script, String(LIMIT_MB)], { encoding: 'utf8' });
    expect(run.signal, `ended with more than ${LIMIT_MB} MB`).to.equal(null);
    expect(run.status, run.stderr).to.equal(0);
    ({ losing, inventing } = JSON.parse(run.stdout));
  });

  it('fails an adapter that loses rows in the tests of long lists, and shows the first lost row', () => {
    const whole =
      'reading from a large dataset a collection of 66,000 documents returns each document once and in order';
    const titles = losing.map(([title]) => title);
    expect(titles).to.include.members(['reads in progress return their whole result, during any other call', whole]);
    const message = losing[titles.indexOf(whole)]![1];
    expect(message).to.equal(
      [
        'expected the documents of "crowd", each once and in order (each shown as [block, seat]); the first difference is at index 2 (66000 expected, 44000 found):',
        '',
        '    index  expected   found',
        '    0      [ -3, 0 ]  [ -3, 0 ]',
        '    1      [ -3, 1 ]  [ -3, 1 ]',
        '  > 2      [ -3, 2 ]  [ -3, 3 ]',
        '    3      [ -3, 3 ]  [ -3, 4 ]',
        '    4      [ -3, 4 ]  [ -3, 6 ]',
        '    5      [ -3, 5 ]  [ -3, 7 ]',
        '',
      ].join('\n'),
    );
  });

  it('fails many tests of an adapter that returns a long list for every find, with short messages', () => {
    expect(inventing).to.have.length.above(30);
    for (const [title, message] of inventing) expect(message.length, title).to.be.below(3000);
  });
});
