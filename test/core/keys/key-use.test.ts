import { expect } from 'chai';
import { keyUse } from '../../../core/keys/authenticator.js';
import { keptLogger } from '../../support/kept-logger.js';

const NEVER = 3_600_000;

const setUp = ({ everyMs = NEVER, fail = (): boolean => false } = {}) => {
  const written: Record<string, number>[] = [];
  let onWrite: () => void = () => undefined;
  const next = () =>
    new Promise<void>((resolve) => {
      onWrite = resolve;
    });
  const logger = keptLogger();
  const use = keyUse({
    everyMs,
    logger,
    write: async (times) => {
      written.push(Object.fromEntries(times));
      onWrite();
      if (fail()) throw new Error('read-only');
    },
  });
  return { use, written, next, logger };
};

describe('keyUse(options)', () => {
  it('writes many uses together, each key with its latest time', async () => {
    const { use, written, next } = setUp({ everyMs: 20 });
    for (let time = 1; time <= 1000; time++) use.of(`key_${time % 2}`).time = time;
    expect(written).to.deep.equal([]);
    await next();
    expect(written).to.deep.equal([{ key_0: 1000, key_1: 999 }]);
    use.of('key_2').time = 1001;
    await next();
    expect(written[1]).to.deep.equal({ key_2: 1001 });
    await use.close();
  });

  it('writes pending times when it ends, and nothing if no key was used', async () => {
    const { use, written } = setUp();
    use.of('key_1').time = 7;
    await use.close();
    await use.close();
    expect(written).to.deep.equal([{ key_1: 7 }]);
  });

  it('retries times that the store could not save, with the latest time and without a warning', async () => {
    let failures = 2;
    const { use, written, next, logger } = setUp({ everyMs: 20, fail: () => failures-- > 0 });
    use.of('key_1').time = 1;
    use.of('key_2').time = 1;
    await next();
    use.of('key_1').time = 2;
    await next();
    await next();
    await use.close();
    expect(written).to.deep.equal([
      { key_1: 1, key_2: 1 },
      { key_1: 2, key_2: 1 },
      { key_1: 2, key_2: 1 },
    ]);
    expect(logger.lines).to.have.length(2);
    expect(logger.lines.join()).to.match(/^debug: .*,debug: /);
  });

  it('does not delay the exit of a process whose store never responds', async () => {
    const use = keyUse({ everyMs: NEVER, logger: keptLogger(), write: () => new Promise(() => undefined) });
    use.of('key_1').time = 1;
    await use.close();
  });
});
