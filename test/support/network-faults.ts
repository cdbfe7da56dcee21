import type { TcpFault } from './tcp-proxy.js';

export const NETWORK_FAULTS: Readonly<Record<string, (severity: number) => TcpFault>> = {
  latency: (severity) => ({ latencyMs: 20 + severity * 780 }),
  jitter: (severity) => ({ jitterMs: 20 + severity * 780 }),
  resets: (severity) => ({ resetAfterBytes: (1 - severity) * 20_000 }),
  'half-open connections': () => ({ halfOpen: true }),
  'cut replies': (severity) => ({ replyBytes: (1 - severity) * 2000 }),
  '1 KB/s': () => ({ bytesPerSecond: 1024 }),
};
