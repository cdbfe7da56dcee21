import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../plugins/metro/sample/random.js';
import { NETWORK_FAULTS } from '../support/network-faults.js';
import type { Server } from '../support/services.js';
import type { TcpProxy } from '../support/tcp-proxy.js';

/** An injected fault. Times are in milliseconds on the monotonic clock of this process. */
export interface Injected {
  readonly store: string;
  readonly kind: string;
  readonly from: number;
  readonly to: number;
  readonly recoveredMs: number | undefined;
}

const LONGEST_MS = 4000;
const LONGEST_PAUSE_MS = 1500;

interface Kind {
  readonly name: string;
  start(severity: number): unknown;
  end(): unknown;
}

const kindsOf = (server: Server, proxy: TcpProxy): readonly Kind[] => [
  ...Object.entries(NETWORK_FAULTS).map(([name, faultOf]) => ({
    name,
    start: (severity: number) => proxy.inject(faultOf(severity)),
    end: () => proxy.heal(),
  })),
  { name: 'connections closed', start: () => proxy.mend(), end: () => undefined },
  { name: 'frozen', start: () => server.freeze(), end: () => server.resume() },
  { name: 'killed', start: () => server.kill(), end: () => server.restart() },
];

/**
 * Injects every kind of fault once before it repeats one.
 * @param recovered resolves with the time until the service recovered, in milliseconds
 */
export const injectFaults = async (
  store: string,
  server: Server,
  proxy: TcpProxy,
  { random, until, recovered }: { random: Random; until: number; recovered(): Promise<number> },
): Promise<readonly Injected[]> => {
  const injected: Injected[] = [];
  let kinds: Kind[] = [];
  while (performance.now() < until) {
    if (kinds.length === 0) kinds = [...kindsOf(server, proxy)];
    const [kind] = kinds.splice(Math.floor(random.uniform() * kinds.length), 1) as [Kind];
    const [pause, lasts, severity, waits] = [0, 0, 0, 0].map(random.uniform) as [number, number, number, number];
    await delay(pause * LONGEST_PAUSE_MS);
    const from = performance.now();
    await kind.start(severity);
    await delay(lasts * LONGEST_MS);
    await kind.end();
    const to = performance.now();
    injected.push({ store, kind: kind.name, from, to, recoveredMs: waits < 0.5 ? await recovered() : undefined });
  }
  return injected;
};
