import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { onPath } from '../../support/binaries.js';
import { startHaproxy } from '../../support/haproxy.js';
import { startNginx } from '../../support/nginx.js';
import type { Server } from '../../support/server-process.js';
import { skip } from '../../support/skip.js';
import { DRAIN_DELAY_MS, type FuzzedService, fuzz, socketsOf, startFuzzedService } from './socket-fuzz.js';

const CONNECTIONS = 20_000;
const CLOSED_WITHIN_MS = 20_000;
const TIMEOUT_MS = 10_000;
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

describe(`${CONNECTIONS} random connections (SEED=${seed})`, function () {
  this.timeout(600_000);
  let service: FuzzedService | undefined;
  let proxy: Server | undefined;
  before(function () {
    if (!existsSync('/proc/net/tcp')) skip(this, 'the kernel does not list sockets in /proc/net/tcp');
  });
  afterEach(async () => {
    await proxy?.stop();
    await service?.remove();
    proxy = undefined;
  });

  const expectHarmless = async (target: FuzzedService, ports: readonly number[]): Promise<void> => {
    const held = await fuzz(ports, CONNECTIONS, seed);
    const since = performance.now();
    const count = () => socketsOf(target.port) + socketsOf(target.metricsPort);
    while (count() > 0 && performance.now() - since < CLOSED_WITHIN_MS) await delay(100);
    console.log(
      `      ${held.size} clients stayed; ${count()} sockets after ${Math.round(performance.now() - since)} ms`,
    );
    expect(count(), target.log()).to.equal(0);
    for (const socket of held) socket.destroy();
    expect(target.isRunning(), target.log()).to.equal(true);
    const last = await fuzz(ports, 500, seed + 1);
    const { ms, code } = await target.stop();
    for (const socket of last) socket.destroy();
    console.log(`      exit ${Math.round(ms)} ms after SIGTERM`);
    expect(target.log()).to.not.match(/worker exited|uncaught|unhandled/i);
    expect(code, target.log()).to.equal(0);
    expect(ms).to.be.below(DRAIN_DELAY_MS + 2000);
  };

  for (const workers of [1, 2]) {
    it(`to ${workers === 1 ? 'one process' : 'workers'} crash no process and leak no socket`, async () => {
      service = await startFuzzedService(workers, TIMEOUT_MS);
      await expectHarmless(service, [service.port, service.port, service.port, service.metricsPort]);
    });
  }

  it('through nginx crash no process and leak no socket', async function () {
    if (!onPath('nginx')) skip(this, 'nginx is not installed');
    service = await startFuzzedService(1, TIMEOUT_MS);
    proxy = await startNginx([service.port, service.port, service.port]);
    await expectHarmless(service, [proxy.port]);
  });

  it('through haproxy crash no process and leak no socket', async function () {
    const program = onPath('haproxy') ?? skip(this, 'haproxy is not installed');
    service = await startFuzzedService(1, TIMEOUT_MS);
    proxy = await startHaproxy(program, service.port);
    await expectHarmless(service, [proxy.port]);
  });
});
