import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { startTestApp } from '../../support/test-app.js';

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

describe('server.maxConnectionsPerAddress', () => {
  const start = async (server: object) => {
    const service = await startTestApp({ config: { server: { port: 0, maxConnectionsPerAddress: 3, ...server } } });
    return { service, port: Number(new URL(service.url).port) };
  };

  it('closes further connections unread, and accepts a new connection once another has closed', async () => {
    const { service, port } = await start({});
    const sockets = await Promise.all([open(port), open(port), open(port)]);
    const refused = await open(port);
    await once(refused.resume(), 'close');
    expect(sockets.map(({ destroyed }) => destroyed)).to.deep.equal([false, false, false]);
    sockets[0]!.destroy();
    let status: number | undefined;
    while (status === undefined)
      status = await request(`${service.url}/health`).then(
        ({ status }) => status,
        () => undefined,
      );
    expect(status).to.equal(200);
    for (const socket of sockets) socket.destroy();
    await service.close();
  });

  it('does not apply behind a proxy, which gives all connections the same address', async () => {
    const { service, port } = await start({ trustProxy: 1 });
    const sockets = await Promise.all(Array.from({ length: 5 }, () => open(port)));
    expect((await request(`${service.url}/health`)).status).to.equal(200);
    expect(sockets.map(({ destroyed }) => destroyed)).to.not.include(true);
    for (const socket of sockets) socket.destroy();
    await service.close();
  });

  it('applies to every address outside of the networks of trusted proxies', async () => {
    for (const trustProxy of [['127.0.0.0/8'], ['10.0.0.0/8']]) {
      const { service, port } = await start({ trustProxy });
      const sockets = await Promise.all(Array.from({ length: 3 }, () => open(port)));
      const fourth = request(`${service.url}/health`).then(
        ({ status }) => status,
        () => 'closed',
      );
      expect(await fourth).to.equal(trustProxy[0] === '127.0.0.0/8' ? 200 : 'closed');
      for (const socket of sockets) socket.destroy();
      await service.close();
    }
  });
});
