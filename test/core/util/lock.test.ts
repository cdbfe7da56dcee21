import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { FileLockError, pidNamespace, withFileLock } from '../../../core/util/lock.js';

describe('withFileLock(path, task)', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lock-'));
    path = join(folder, 'file');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('runs one task at a time', async () => {
    let running = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 10 }, () =>
        withFileLock(path, async () => {
          most = Math.max(most, ++running);
          await delay(1);
          running--;
        }),
      ),
    );
    expect(most).to.equal(1);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('resolves with the result of the task, and releases the lock if the task fails', async () => {
    expect(await withFileLock(path, async () => 5)).to.equal(5);
    const error = await withFileLock(path, () => Promise.reject(new Error('no'))).catch((reason) => reason);
    expect(error.message).to.equal('no');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  const left: [whose: string, content: string][] = [
    ['a process on another machine', '1 another-machine 0'],
    ['a process that died before it wrote its name', ''],
    ['a live process that is stalled', `${process.pid} ${hostname()} ${pidNamespace()} 0`],
  ];
  for (const [whose, content] of left) {
    it(`takes over the lock of ${whose} once it is stale, one task at a time`, async () => {
      await writeFile(`${path}.lock`, content);
      let running = 0;
      const task = async () => {
        expect(++running).to.equal(1);
        await delay(1);
        running--;
      };
      await Promise.all(Array.from({ length: 5 }, () => withFileLock(path, task, { staleMs: 200 })));
      expect(await readdir(folder)).to.deep.equal([]);
    });
  }

  it('does not take over a lock that is renewed, even if the clock of its holder is an hour behind', async () => {
    await writeFile(`${path}.lock`, '1 another-machine 0');
    const renew = () => {
      const time = new Date(Date.now() - 3_600_000);
      return utimes(`${path}.lock`, time, time);
    };
    await renew();
    let isTaken = false;
    const taking = withFileLock(
      path,
      async () => {
        isTaken = true;
      },
      { staleMs: 1000 },
    );
    for (let i = 0; i < 15; i++) {
      await delay(100);
      await renew();
    }
    expect(isTaken).to.equal(false);
    await unlink(`${path}.lock`);
    await taking;
  });

  it('does not take over a lock that was just created, even if the clock of its holder is an hour behind', async () => {
    await writeFile(`${path}.lock`, '');
    const time = new Date(Date.now() - 3_600_000);
    await utimes(`${path}.lock`, time, time);
    let isTaken = false;
    const taking = withFileLock(path, async () => {
      isTaken = true;
    });
    await delay(200);
    expect(isTaken).to.equal(false);
    await unlink(`${path}.lock`);
    await taking;
  });

  it('takes over even if an earlier takeover was killed', async () => {
    await writeFile(`${path}.lock`, '1 another-machine 0');
    await writeFile(`${path}.lock.break`, '');
    await withFileLock(path, async () => undefined, { staleMs: 100 });
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('throws for a holder that stalled too long, and leaves the lock to the new holder', async () => {
    const error = await withFileLock(path, async (confirm) => {
      await confirm();
      await unlink(`${path}.lock`);
      await writeFile(`${path}.lock`, 'another');
      await confirm();
    }).catch((reason) => reason);
    expect(error).to.be.instanceOf(FileLockError);
    expect(await readFile(`${path}.lock`, 'utf8')).to.equal('another');
  });

  describe('with { wait: false }', () => {
    const takeOver = () => withFileLock(path, async () => 'done', { wait: false, staleMs: 1000 });
    const holding = async (content: string, modified = new Date()) => {
      await writeFile(`${path}.lock`, content);
      await utimes(`${path}.lock`, modified, modified);
    };
    const longAgo = () => new Date(Date.now() - 5000);

    it('rejects immediately if a live process holds the lock, naming the process and the file', async () => {
      const result = await withFileLock(path, () => takeOver().catch((reason) => reason));
      expect(result).to.be.instanceOf(FileLockError);
      expect((result as Error).message)
        .to.include(`Process ${process.pid} on ${hostname()}`)
        .and.include(`${path}.lock`);
      expect(await takeOver()).to.equal('done');
    });

    it('takes over from a process of this machine that has exited', async () => {
      const ended = spawnSync(process.execPath, ['-e', '0']);
      await holding(`${ended.pid} ${hostname()} ${pidNamespace()} 0`);
      expect(await takeOver()).to.equal('done');
    });

    it('does not take over from a process in another container with the same host name', async () => {
      const ended = spawnSync(process.execPath, ['-e', '0']);
      await holding(`${ended.pid} ${hostname()} pid:[1] 0`);
      expect(await takeOver().catch((reason) => reason)).to.be.instanceOf(FileLockError);
    });

    it('takes over a lock whose holder was killed before it wrote its name, after a second', async () => {
      await holding('', longAgo());
      expect(await withFileLock(path, async () => 'done', { wait: false, staleMs: 60_000 })).to.equal('done');
      await holding('');
      const started = performance.now();
      expect(await withFileLock(path, async () => 'done', { wait: false, staleMs: 60_000 })).to.equal('done');
      expect(performance.now() - started).to.be.above(900);
    });

    it('takes over from any holder whose heartbeat is too old, and not earlier', async () => {
      for (const content of ['1 another-machine 0', `${process.pid} ${hostname()} ${pidNamespace()} 0`]) {
        await holding(content);
        expect(await takeOver().catch((reason) => reason)).to.be.instanceOf(FileLockError);
        await holding(content, longAgo());
        expect(await takeOver()).to.equal('done');
      }
      expect(await readdir(folder)).to.deep.equal([]);
    });

    it('recognises the heartbeat of a slow holder', async () => {
      const finish = new AbortController();
      const holder = withFileLock(path, () => once(finish.signal, 'abort'), { staleMs: 100 });
      while (!(await readdir(folder)).includes('file.lock')) await delay(1);
      await utimes(`${path}.lock`, longAgo(), longAgo());
      const isFresh = async () => (await stat(`${path}.lock`)).mtimeMs > Date.now() - 2000;
      while (!(await isFresh())) await delay(5);
      expect(await takeOver().catch((reason) => reason)).to.be.instanceOf(FileLockError);
      finish.abort();
      await holder;
    });
  });
});
