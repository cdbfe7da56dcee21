import { expect } from 'chai';
import { CommanderError } from 'commander';
import { report } from '../../cli/report.js';
import { KeyStoreError, LimiterUnavailable, OperatorError, StorageError } from '../../core/errors.js';
import { FileLockError } from '../../core/util/lock.js';

const plain = { json: false, debug: false };

describe('report(error)', () => {
  for (const error of [
    new OperatorError('What to do.'),
    new StorageError('conflict', 'What to do.'),
    new KeyStoreError('unavailable', 'What to do.'),
    new LimiterUnavailable('What to do.'),
    new FileLockError('What to do.'),
  ]) {
    it(`prints only the message of a ${error.name}`, () => {
      expect(report(error, plain)).to.deep.equal({ text: 'What to do.\n', exitCode: 1 });
    });
  }

  it('lists the errors of an OperatorError, one per line, and in JSON next to the heading', () => {
    const error = new OperatorError('Two errors:', ['one', 'two']);
    expect(report(error, plain).text).to.equal('Two errors:\n  - one\n  - two\n');
    expect(JSON.parse(report(error, { ...plain, json: true }).text)).to.deep.equal({
      error: 'Two errors:',
      faults: ['one', 'two'],
    });
  });

  it('prints the message of an unexpected error and how to get its stack', () => {
    const { text, exitCode } = report(new TypeError('x is not a function'), plain);
    expect(exitCode).to.equal(1);
    expect(text).to.match(/^Unexpected error: x is not a function\n {2}- .*METRO_DEBUG=1/);
    expect(text).to.not.contain('report.test');
  });

  it('shows the stack of an unexpected error with METRO_DEBUG', () => {
    expect(report(new TypeError('x'), { ...plain, debug: true }).text).to.contain('report.test');
    expect(report('thrown text', { ...plain, debug: true }).text).to.contain('thrown text');
  });

  it('adds nothing to the message from commander, and distinguishes help from wrong usage', () => {
    expect(report(new CommanderError(0, 'commander.help', ''), plain)).to.deep.equal({ text: '', exitCode: 0 });
    expect(report(new CommanderError(1, 'commander.unknownOption', ''), plain)).to.deep.equal({
      text: '',
      exitCode: 2,
    });
  });
});
