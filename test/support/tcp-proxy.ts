/** A TCP proxy that simulates a bad network between a client and a server. */
import { once, setMaxListeners } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A fault that affects all current and new connections. Undefined properties have no effect. */
export interface TcpFault {
  readonly latencyMs?: number;
  /** Maximum random delay of each chunk. Chunks stay in order. */
  readonly jitterMs?: number;
  /** Bandwidth limit of each connection, separately for each direction. */
  readonly bytesPerSecond?: number;
  /** Number of bytes, in both directions together, after which a connection is reset. */
  readonly resetAfterBytes?: number;
  /**
   * Number of bytes that each connection delivers from the server. The proxy drops the remaining bytes, but still
   * forwards requests.
   */
  readonly replyBytes?: number;
  /** If true, connections stop delivering data, but neither end is notified. */
  readonly halfOpen?: boolean;
}

export interface TcpProxy {
  readonly port: number;
  inject(fault: TcpFault): void;
  /** Ends the fault. Delayed data is sent immediately. Connections that have lost data stay dead. */
  heal(): void;
  /** Forwards requests but drops responses, until `mend` is called. */
  cutReplies(): void;
  mend(): void;
  close(): Promise<void>;
}

const SLICES = 20;
const UNBOUNDED = Number.POSITIVE_INFINITY;

export const startTcpProxy = async (targetPort: number): Promise<TcpProxy> => {
  const sockets = new Set<Socket>();
  /** Sockets for which bytes were dropped. They receive no more data, because the data would have a gap. */
  const silent = new WeakSet<Socket>();
  let fault: TcpFault = {};
  let replaced: AbortController | undefined;

  const replace = (next: TcpFault): void => {
    fault = next;
    if (fault.halfOpen) for (const socket of sockets) silent.add(socket);
    replaced?.abort();
    replaced = new AbortController();
    // Each delayed chunk adds a listener. Node would print a warning above 10 listeners.
    setMaxListeners(0, replaced.signal);
  };
  replace({});

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
        // The stream ends only after all earlier data has been delivered.
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
