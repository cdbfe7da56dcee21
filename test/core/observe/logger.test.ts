import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../../core/util/package.js';
import { freePort } from '../../support/server-process.js';

const run = promisify(execFile);

const logOf = async (code: string, format = 'json'): Promise<string> => {
  const at = (file: string) => JSON.stringify(join(packageRoot, 'dist', file));
  const program = `import { createLogger } from ${at('core/observe/logger.js')};
    import { bounded } from ${at('adapters/mongo/connection.js')};
    import { MongoClient } from ${JSON.stringify(import.meta.resolve('mongodb'))};
    const logger = createLogger({ level: 'info', format: '${format}', addresses: 'none' });
    ${code}`;
  const args = ['--expose-gc', '--input-type=module', '--eval', program];
  return (await run(process.execPath, args, { cwd: packageRoot })).stderr;
};

const occurrences = (text: string, part: string): number => text.split(part).length - 1;

describe('the log', () => {
  it('contains the cause of a MongoDB error once, next to the stack', async () => {
    const port = await freePort();
    const line = JSON.parse(
      await logOf(`const client = new MongoClient('mongodb://127.0.0.1:${port}', { serverSelectionTimeoutMS: 100 });
        await bounded('read the server time', 1000, undefined, () => client.db().command({ hello: 1 }))
          .catch((err) => logger.warn({ err }, 'away'));
        await client.close();`),
    );
    expect(line.err.type).to.equal('StorageError');
    expect(line.err.message).to.match(/^MongoDB could not read the server time: /);
    expect(occurrences(line.err.message, `ECONNREFUSED 127.0.0.1:${port}`)).to.equal(1);
  });

  it('appends causes that the message does not quote, even in child loggers, and stops at circular causes', async () => {
    const line = JSON.parse(
      await logOf(`const inner = new Error('inner');
        const err = new Error('outer', { cause: new Error('middle', { cause: inner }) });
        inner.cause = err;
        logger.child({ part: 'a' }).error({ err }, 'failed');`),
    );
    expect(line.err.message).to.match(/^outer: middle: inner/);
    expect(line.err.stack).to.contain('caused by: Error: middle');
  });

  it('keeps no unused child loggers in memory, and setLevel applies to the child loggers in use', async () => {
    const lines = (
      await logOf(`const child = logger.child({ part: 'a' }).child({ part: 'b' });
        const before = process.memoryUsage().heapUsed;
        for (let i = 0; i < 50_000; i++) logger.child({ requestId: i });
        await new Promise((resolve) => setTimeout(resolve, 0));
        gc();
        const megabytes = (process.memoryUsage().heapUsed - before) / 1e6;
        child.debug('hidden');
        logger.setLevel('debug');
        child.debug({ megabytes }, 'shown');`)
    )
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ msg }) => msg)).to.deep.equal(['shown']);
    // The child loggers take more than 50 MB.
    expect(lines[0].megabytes).to.be.below(10);
  });

  it('in text format escapes control and direction characters in messages, values and stacks', async () => {
    const hostile = '"\\u001b[2J\\u202e"';
    const log = await logOf(
      `logger.warn({ path: ${hostile}, [${hostile}]: 1, err: new Error(${hostile}) }, ${hostile});`,
      'pretty',
    );
    expect(occurrences(log, '\\u001b[2J\\u202e')).to.be.at.least(4);
    expect(log).not.to.match(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u);
    expect(log).to.match(/\n {4,}at /);
  });
});
