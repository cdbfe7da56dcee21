/** Faults of one store, one after the other, each drawn at random. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../plugins/metro/sample/random.js';
import { NETWORK_FAULTS } from '../support/network-faults.js';
import type { Server } from '../support/services.js';
import type { TcpProxy } from '../support/tcp-proxy.js';

/** Times are in milliseconds of this process's monotonic clock. */
export interface Injected {
  readonly store: string;
  readonly kind: string;
  readonly from: number;
  /** From when on there is no fault any more. */
  readonly to: number;
  /** How long it took until all was well; absent where the next fault did not wait for that. */
  readonly healedMs: number | undefined;
}

const LONGEST_MS = 4000;
const LONGEST_PAUSE_MS = 1500;

interface Kind {
  readonly name: string;
  begin(severity: number): unknown;
  end(): unknown;
}

const kindsOf = (server: Server, proxy: TcpProxy): readonly Kind[] => [
  ...Object.entries(NETWORK_FAULTS).map(([name, faultOf]) => ({
    name,
    begin: (severity: number) => proxy.inject(faultOf(severity)),
    end: () => proxy.heal(),
  })),
  { name: 'connections ended', begin: () => proxy.mend(), end: () => undefined },
  { name: 'frozen', begin: () => server.freeze(), end: () => server.resume() },
  { name: 'killed', begin: () => server.kill(), end: () => server.restart() },
];

/**
 * Every kind comes once before one comes again.
 * @param well resolves with how long it took until all was well
 */
export const injectFaults = async (
  store: string,
  server: Server,
  proxy: TcpProxy,
  { random, until, well }: { random: Random; until: number; well(): Promise<number> },
): Promise<readonly Injected[]> => {
  const injected: Injected[] = [];
  let kinds: Kind[] = [];
  while (performance.now() < until) {
    if (kinds.length === 0) kinds = [...kindsOf(server, proxy)];
    const [kind] = kinds.splice(Math.floor(random.uniform() * kinds.length), 1) as [Kind];
    const [pause, lasts, severity, waits] = [0, 0, 0, 0].map(random.uniform) as [number, number, number, number];
    await delay(pause * LONGEST_PAUSE_MS);
    const from = performance.now();
    await kind.begin(severity);
    await delay(lasts * LONGEST_MS);
    await kind.end();
    const to = performance.now();
    injected.push({ store, kind: kind.name, from, to, healedMs: waits < 0.5 ? await well() : undefined });
  }
  return injected;
};
