/** A TCP proxy between a client and a server of the tests, which can be as bad as a network. */
import { once, setMaxListeners } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What is wrong with every connection, those that are open and those to come; absent: nothing of that kind. */
export interface TcpFault {
  /** How late everything arrives, each way. */
  readonly latencyMs?: number;
  /** How much later still at most, anew for each piece; their order is kept. */
  readonly jitterMs?: number;
  /** Of each connection, each way. */
  readonly bytesPerSecond?: number;
  /** What a connection carries, both ways together, before it is reset. */
  readonly resetAfterBytes?: number;
  /** What a connection brings back from the server before it loses all the rest, while requests get through. */
  readonly replyBytes?: number;
  /** Whether connections are dead, both those that are open and those to come, and neither end hears of it. */
  readonly halfOpen?: boolean;
}

export interface TcpProxy {
  readonly port: number;
  /** Puts this fault in the place of the one before. */
  inject(fault: TcpFault): void;
  /** Ends the fault. What was late goes on at once; a connection that is dead, or has lost something, stays so. */
  heal(): void;
  /** Lets requests through and loses what the server answers, until `mend`. */
  cutReplies(): void;
  /** Heals, and ends all connections. */
  mend(): void;
  close(): Promise<void>;
}

/** Slices of a slow connection's data in a second. */
const SLICES = 20;
const UNBOUNDED = Number.POSITIVE_INFINITY;

export const startTcpProxy = async (targetPort: number): Promise<TcpProxy> => {
  const sockets = new Set<Socket>();
  /** Those that nothing reaches any more: of what they have missed a part, the rest would make no sense to them. */
  const silent = new WeakSet<Socket>();
  let fault: TcpFault = {};
  let replaced: AbortController | undefined;

  const replace = (next: TcpFault): void => {
    fault = next;
    if (fault.halfOpen) for (const socket of sockets) silent.add(socket);
    replaced?.abort();
    replaced = new AbortController();
    // As many as there are pieces on their way.
    setMaxListeners(0, replaced.signal);
  };
  replace({});

  /** Ends early when there is another fault. */
  const wait = (ms: number): Promise<unknown> =>
    delay(ms, undefined, { signal: replaced?.signal }).catch(() => undefined);

  const server = createServer((downstream) => {
    const upstream = connect(targetPort, '127.0.0.1');
    const both = [downstream, upstream] as const;
    let current = fault;
    let carried = 0;
    let returned = 0;

    const write = (to: Socket, data: Buffer): void => {
      const { replyBytes = UNBOUNDED, resetAfterBytes = UNBOUNDED } = fault;
      if (current !== fault) [current, carried, returned] = [fault, 0, 0];
      if (silent.has(to)) return;
      const arriving = to === downstream ? data.subarray(0, Math.max(0, replyBytes - returned)) : data;
      if (to === downstream) returned += arriving.length;
      carried += arriving.length;
      if (carried > resetAfterBytes) {
        for (const socket of both) socket.resetAndDestroy();
        return;
      }
      to.write(arriving);
      if (arriving.length < data.length) silent.add(to);
    };

    const pass = async (to: Socket, data: Buffer, due: number): Promise<void> => {
      if (due > performance.now()) await wait(due - performance.now());
      for (let from = 0; from < data.length && !to.destroyed && !silent.has(to); ) {
        const { bytesPerSecond = UNBOUNDED } = fault;
        const slice = data.subarray(from, from + Math.ceil(bytesPerSecond / SLICES));
        if (bytesPerSecond < UNBOUNDED) await wait((slice.length / bytesPerSecond) * 1000);
        write(to, slice);
        from += slice.length;
      }
    };

    const carry = (from: Socket, to: Socket): void => {
      let last: Promise<unknown> | undefined;
      from.on('data', (data: Buffer) => {
        const { latencyMs = 0, jitterMs = 0 } = fault;
        const due = performance.now() + latencyMs + jitterMs * Math.random();
        const before = last;
        last = before ? before.then(() => pass(to, data, due)) : pass(to, data, due);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        if (silent.has(to)) return;
        // What was sent before the end arrives before it.
        void (last ?? Promise.resolve()).then(() => to.end(() => to.destroy()));
      });
    };

    for (const socket of both) {
      sockets.add(socket);
      if (fault.halfOpen) silent.add(socket);
    }
    carry(downstream, upstream);
    carry(upstream, downstream);
  });

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const mend = (): void => {
    replace({});
    drop();
  };
  return {
    port: (server.address() as { port: number }).port,
    inject: replace,
    heal: () => replace({}),
    cutReplies: () => replace({ replyBytes: 0 }),
    mend,
    close: async () => {
      mend();
      server.close();
      await once(server, 'close');
    },
  };
};
