/** A TCP proxy between a client and a server of the tests, that can cut the way back. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Lets requests through and loses what the server answers, until `mend`. */
  cutReplies(): void;
  /** Ends all connections, and lets new ones through in both directions. */
  mend(): void;
  close(): Promise<void>;
}

export const startTcpProxy = async (targetPort: number): Promise<TcpProxy> => {
  const sockets = new Set<Socket>();
  let cut = false;
  const server = createServer((downstream) => {
    const upstream = connect(targetPort, '127.0.0.1');
    for (const socket of [downstream, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        downstream.destroy();
        upstream.destroy();
      });
    }
    downstream.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => {
      if (!cut) downstream.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    cutReplies: () => {
      cut = true;
    },
    mend: () => {
      cut = false;
      drop();
    },
    close: async () => {
      drop();
      server.close();
      await once(server, 'close');
    },
  };
};
