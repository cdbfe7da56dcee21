import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { ReloadedService } from '../core/app/reloading.js';
import { onPath } from '../support/binaries.js';
import { skip } from '../support/skip.js';
import { until } from '../support/until.js';

/** Receives the datagrams that a service sends to systemd. Node has no Unix datagram sockets. */
const RECEIVER = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print("bound", flush=True)
while True:
    print(receiver.recv(65536).decode(), flush=True)
`;

describe('the messages to systemd', () => {
  let receiver: ChildProcess | undefined;
  let service: ReloadedService | undefined;
  afterEach(async () => {
    await service?.remove();
    receiver?.kill();
  });

  for (const workers of [1, 2]) {
    it(`${workers === 1 ? 'without' : 'with'} workers say that the service listens, and why a reload failed`, async function () {
      if (!onPath('systemd-notify')) return skip(this, 'systemd-notify is not installed');
      if (!onPath('python3')) return skip(this, 'python3 is not installed');
      let received = '';
      service = await ReloadedService.start(workers, async (folder) => {
        const socket = join(folder, 'notify');
        receiver = spawn('python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
        receiver.stdout!.on('data', (text) => (received += text));
        await once(receiver.stdout!, 'data');
        return { NOTIFY_SOCKET: socket };
      });
      await until(() => (received.includes('READY=1') ? true : undefined));
      expect(received).to.match(/^STATUS=Listening on http:/m);
      await service.write('api.json', '{');
      const { code } = await service.reload();
      expect(code).to.equal(1);
      await until(() => (/^STATUS=The reload failed: .* is not JSON/m.test(received) ? true : undefined));
      await service.configure({ server: { workers } });
      expect((await service.reload()).code).to.equal(0);
      await until(() => (received.match(/^STATUS=Listening on/gm)?.length === 2 ? true : undefined));
      expect(received.match(/READY=1/g)).to.have.length(1);
    });
  }
});
