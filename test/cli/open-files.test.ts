import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../adapters/conformance/expect.js';
import { connectionsAllowed } from '../../core/util/open-files.js';
import { commandArgs } from '../support/command-process.js';
import { freePort } from '../support/server-process.js';

describe('open files', () => {
  it('leaves files for the dataset, the log and the stores', () => {
    expect([128, 1024, 1_048_576].map((limit) => connectionsAllowed(limit))).to.deep.equal([64, 924, 1_048_476]);
  });

  it('with ulimit -n 128, start warns, closes connections above the limit, and answers the others', async function () {
    if (process.platform !== 'linux') this.skip();
    const port = await freePort();
    const script = 'ulimit -n 128; exec "$@"';
    const env = { ...process.env, PORT: String(port), HOST: '127.0.0.1' };
    const args = ['-c', script, 'sh', process.execPath, ...commandArgs(['start'])];
    const service = spawn('sh', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const sockets: Socket[] = [];
    try {
      let log = '';
      service.stderr.on('data', (text) => {
        log += text;
      });
      await once(service.stdout, 'data');
      let closed = 0;
      for (let i = 0; i < 100; i++) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.on('close', () => closed++);
        sockets.push(socket);
        await once(socket, 'connect');
      }
      const first = sockets[0]!;
      first.write('GET /api/v1/ready HTTP/1.1\r\nHost: a\r\n\r\n');
      const [reply] = await once(first, 'data');
      expect(String(reply)).to.match(/^HTTP\/1.1 200/);
      await eventually('the other connections are closed', () => closed === 100 - 64, 5000);
      const warning = 'This process may open 128 files, so it accepts 64 connections instead of 10000';
      await eventually('the log has a warning', () => log.includes(warning), 5000);
    } finally {
      for (const socket of sockets) socket.destroy();
      service.kill();
      await once(service, 'exit');
    }
  }).timeout(30_000);
});
