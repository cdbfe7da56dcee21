import { Socket } from 'node:net';
import { setImmediate as laterTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { ApiError, StorageError } from '../../../core/errors.js';
import type { ApiContext } from '../../../core/pipeline/api-koa.js';
import { WorkQueue, WorkQueues } from '../../../core/routes/work-queue.js';
import { keptLogger } from '../../support/kept-logger.js';
import { until } from '../../support/until.js';

const controlled = (maxWaiting?: number) => {
  const queue = new WorkQueue(maxWaiting);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const outcomes = new Map<string, 'done' | 'rejected' | number>();
  const add = (caller: string, ...names: string[]) => addFrom(undefined, caller, ...names);
  const addFrom = (connection: Socket | undefined, caller: string, ...names: string[]) => {
    for (const name of names) {
      const work = () => {
        started.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      };
      void queue.run(caller, work, connection).then(
        () => outcomes.set(name, 'done'),
        (error) => outcomes.set(name, error instanceof ApiError && error.status !== 503 ? error.status : 'rejected'),
      );
    }
  };
  const settled = async () => {
    for (let i = 0; i < 40; i++) await laterTurn();
  };
  const end = async (...names: string[]) => {
    for (const name of names) ends.get(name)!();
    await settled();
  };
  return { queue, started, outcomes, add, addFrom, end, settled };
};

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}${i}`);

describe('WorkQueue', () => {
  it('runs two requests of a caller concurrently, and its other requests in order', async () => {
    const { queue, started, add, end, settled } = controlled();
    add('a', 'a0', 'a1', 'a2', 'a3');
    await settled();
    expect([started, queue.size]).to.deep.equal([['a0', 'a1'], 4]);
    await end('a1');
    expect(started).to.deep.equal(['a0', 'a1', 'a2']);
    await end('a0', 'a2');
    await end('a3');
    expect([started, queue.size]).to.deep.equal([['a0', 'a1', 'a2', 'a3'], 0]);
  });

  it('starts the request of a caller immediately while requests of another caller wait', async () => {
    const { started, add, settled } = controlled();
    add('a', ...numbered('a', 100));
    add('b', 'b0');
    await settled();
    expect(started).to.deep.equal(['a0', 'b0', 'a1']);
  });

  it('runs 16 requests concurrently; beyond that, callers take turns', async () => {
    const { started, add, end, settled } = controlled();
    for (let i = 0; i < 8; i++) add(`busy${i}`, `busy${i}-0`, `busy${i}-1`);
    add('a', 'a0', 'a1', 'a2');
    add('b', 'b0', 'b1', 'b2');
    await settled();
    expect(started.length).to.equal(16);
    await end('busy0-0', 'busy1-0', 'busy2-0', 'busy3-0', 'busy4-0');
    expect(started.slice(16)).to.deep.equal(['a0', 'b0', 'a1', 'b1']);
    await end('a0');
    expect(started.slice(20)).to.deep.equal(['a2']);
  });

  it('rejects requests of a caller that has half of the queue, and accepts requests of other callers', async () => {
    const { queue, outcomes, add, settled } = controlled(20);
    add('a', ...numbered('a', 13));
    add('b', ...numbered('b', 3));
    await settled();
    expect([...outcomes]).to.deep.equal([['a12', 'rejected']]);
    expect([queue.rejected, queue.size]).to.deep.equal([1, 15]);
  });

  it('rejects the newest request of the longest queue when it is full', async () => {
    const { outcomes, add, settled } = controlled(8);
    add('a', ...numbered('a', 6));
    add('b', ...numbered('b', 5));
    add('c', ...numbered('c', 4));
    await settled();
    expect([...outcomes]).to.deep.equal([['a5', 'rejected']]);
    add('c', 'c4', 'c5');
    await settled();
    expect([...outcomes.keys()]).to.have.members(['a5', 'a4', 'c5']);
  });

  it('drops the waiting requests of a connection that closes, and keeps requests of other connections', async () => {
    const { queue, started, outcomes, add, addFrom, end, settled } = controlled();
    const [left, kept] = [new Socket(), new Socket()];
    addFrom(left, 'a', ...numbered('left', 20));
    addFrom(kept, 'a', 'kept');
    add('a', 'a0');
    await settled();
    left.destroy();
    await settled();
    expect([...outcomes]).to.deep.equal(
      numbered('left', 20)
        .slice(2)
        .map((name) => [name, 499]),
    );
    expect([queue.size, queue.rejected]).to.deep.equal([4, 0]);
    addFrom(left, 'b', 'late');
    await end('left0', 'left1');
    expect(started).to.deep.equal(['left0', 'left1', 'kept', 'a0']);
    expect(outcomes.get('late')).to.equal(499);
    await end('kept', 'a0');
    expect(queue.size).to.equal(0);
  });

  it('rejects the waiting requests of a caller when storage is unavailable for one of its requests', async () => {
    const { queue, started, add, end, settled } = controlled();
    let fail: (error: Error) => void = () => undefined;
    const failing = queue.run(
      'a',
      () =>
        new Promise<void>((_resolve, reject) => {
          fail = reject;
        }),
    );
    add('a', 'a0');
    await settled();
    const waiting = Array.from({ length: 60 }, () => queue.run('a', async () => started.push('late')));
    const outcomes = Promise.allSettled([failing, ...waiting]);
    const unavailable = new StorageError('unavailable', 'The store timed out.');
    fail(unavailable);
    for (const outcome of await outcomes) expect(outcome).to.deep.equal({ status: 'rejected', reason: unavailable });
    expect([started, queue.size]).to.deep.equal([['a0'], 1]);
    await end('a0');
    expect(queue.size).to.equal(0);
  });

  it('listens once to a connection that pipelines many requests', async () => {
    const { addFrom, settled } = controlled();
    const connection = new Socket();
    addFrom(connection, 'a', ...numbered('a', 40));
    await settled();
    expect(connection.listenerCount('close') - new Socket().listenerCount('close')).to.equal(1);
  });

  it('continues after a failed request', async () => {
    const { queue, started, add, end, settled } = controlled();
    const fail = () => queue.run('a', () => Promise.reject(new Error('broken')));
    const failures = await Promise.allSettled([fail(), fail(), fail(), fail()]);
    expect(failures.map(({ status }) => status)).to.deep.equal(new Array(4).fill('rejected'));
    add('a', 'a0');
    await settled();
    await end('a0');
    expect([started, queue.size]).to.deep.equal([['a0'], 0]);
  });
});

describe('WorkQueues.handle', () => {
  const MOST = 3;
  const handling = (abandonedMs: number) => {
    const logger = keptLogger();
    const work = new WorkQueues({ maxWaiting: 2 * MOST, abandonedMs, logger });
    let isAdmitted = true;
    const handle = (caller: string, run: () => unknown, socket = new Socket()) => {
      const endpoint = { pattern: '/hung' };
      const requestState = { isAdmitted, caller: { id: caller }, match: { endpoint } };
      const handled = work.handle({ req: { socket }, requestState } as unknown as ApiContext, run);
      handled.catch(() => undefined);
      return handled;
    };
    const never = (caller: string) => {
      const socket = new Socket();
      void handle(caller, () => new Promise(() => undefined), socket);
      return socket;
    };
    const outcome = async (caller: string) => (await Promise.allSettled([handle(caller, () => 0)]))[0].status;
    const asInner = () => {
      isAdmitted = false;
    };
    return { logger, work, handle, never, outcome, asInner };
  };

  it('rejects further handlers of a caller, but neither handlers of other callers nor inner requests', async () => {
    const { never, outcome, asInner } = handling(60_000);
    for (let i = 0; i < MOST; i++) never('a');
    expect([await outcome('a'), await outcome('b')]).to.deep.equal(['rejected', 'fulfilled']);
    asInner();
    expect(await outcome('a')).to.equal('fulfilled');
  });

  it('counts a handler without a client for a limited time, and reports its endpoint once', async () => {
    const { logger, work, never, outcome } = handling(50);
    for (let round = 0; round < 3; round++) {
      const sockets = Array.from({ length: MOST }, () => never('a'));
      await laterTurn();
      for (const socket of sockets) socket.destroy();
      await laterTurn();
      expect(await outcome('a')).to.equal('rejected');
      await until(async () => (await outcome('a')) === 'fulfilled' || undefined);
    }
    expect(work.queuedOrAbandoned).to.equal(3 * MOST);
    expect(logger.lines).to.deep.equal(['warn: a handler still runs 0.05 s after its client closed the connection']);
  });

  it('counts a handler as long as its client is connected, and removes it once', async () => {
    const { logger, work, handle, never, outcome } = handling(20);
    const ends: (() => void)[] = [];
    const left = new Socket();
    const ending = handle('a', () => new Promise<void>((resolve) => ends.push(resolve)), left);
    for (let i = 1; i < MOST; i++) never('a');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect([await outcome('a'), logger.lines]).to.deep.equal(['rejected', []]);
    left.destroy();
    await until(async () => (await outcome('a')) === 'fulfilled' || undefined);
    never('a');
    for (const end of ends) end();
    await ending;
    expect([await outcome('a'), work.queuedOrAbandoned]).to.deep.equal(['rejected', 0]);
  });
});
