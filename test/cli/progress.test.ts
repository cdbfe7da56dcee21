import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { createProgress } from '../../cli/progress.js';

const stream = (isTTY: boolean) => {
  const through = Object.assign(new PassThrough(), { isTTY, columns: 80, cursorTo() {}, clearLine() {} });
  const text = () => {
    let all = '';
    // In Node 26 and later, `read()` returns only one chunk per call.
    for (let chunk = through.read(); chunk !== null; chunk = through.read()) all += chunk;
    return all;
  };
  return { through, text };
};

describe('cli/progress', () => {
  it('writes one plain line per task without a terminal, and more lines for a long task', () => {
    const { through, text } = stream(false);
    let now = 0;
    const progress = createProgress(through, () => now);
    progress.update('reading hpi.csv', 1_000_000, 4_144_569, 'bytes');
    now = 4_000;
    progress.update('reading hpi.csv', 2_000_000, 4_144_569, 'bytes');
    expect(text()).to.equal('');
    now = 6_000;
    progress.update('reading hpi.csv', 3_000_000, 4_144_569, 'bytes');
    expect(text()).to.equal('reading hpi.csv: 3.0 MB of 4.1 MB ...\n');
    progress.update('reading hpi.csv', 4_144_569, 4_144_569, 'bytes');
    progress.update('writing hpi', 70_243);
    expect(text()).to.equal('reading hpi.csv: 4.1 MB\n');
    progress.finish();
    progress.finish();
    expect(text()).to.equal('writing hpi: 70,243 rows\n');
  });

  it('draws a bar on a terminal, or a count if the total is unknown', () => {
    const { through, text } = stream(true);
    const progress = createProgress(through);
    progress.update('reading hpi.csv', 1, 2, 'bytes');
    progress.update('writing hpi', 70_243);
    progress.finish();
    const drawn = text();
    expect(drawn).to.match(/reading hpi\.csv .* 50% 1 byte/);
    expect(drawn).to.match(/writing hpi: 70,243 rows/);
    expect(drawn, 'hides the cursor, also after Ctrl-C').to.not.include('\u001b[?25l');
  });

  it('writes nothing without a task', () => {
    const { through, text } = stream(false);
    createProgress(through).finish();
    expect(text()).to.equal('');
  });
});
