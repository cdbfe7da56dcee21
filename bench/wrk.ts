/** Closed-loop load by wrk: as many requests as its connections can carry. */
import { LOAD_CORE, runPinned } from './pinned-process.js';

export interface WrkOptions {
  readonly url: string;
  readonly key: string;
  readonly connections: number;
  readonly seconds: number;
  /** The cores that wrk may use. */
  readonly cores?: string;
  /** Status codes other than 2xx and 3xx are what is measured, not a fault. */
  readonly refusals?: boolean;
}

export interface WrkResult {
  readonly requestsPerSecond: number;
  readonly requests: number;
  /** Microseconds. */
  readonly p50: number;
  readonly refused: number;
}

const MICROSECONDS: Readonly<Record<string, number>> = { us: 1, ms: 1000, s: 1e6 };

const numberAfter = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);

/** @throws when any request failed: a benchmark of errors proves nothing */
export const runWrk = async (options: WrkOptions): Promise<WrkResult> => {
  const { url, key, connections, seconds, cores = LOAD_CORE, refusals = false } = options;
  const text = await runPinned(cores, [
    ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '--latency'],
    ...['-H', `Authorization: Bearer ${key}`, '-H', 'Accept: application/json', url],
  ]);
  const refused = numberAfter(text, /Non-2xx or 3xx responses: (\d+)/);
  const socketErrors = /Socket errors: (.*)/.exec(text)?.[1];
  const [, p50, unit] = /50%\s+([\d.]+)(us|ms|s)/.exec(text) ?? [];
  const requestsPerSecond = numberAfter(text, /Requests\/sec:\s+([\d.]+)/);
  if (socketErrors && !/^connect 0, read 0, write 0, timeout 0/.test(socketErrors)) {
    throw new Error(`wrk met socket errors at ${url}: ${socketErrors}`);
  }
  if (refused > 0 && !refusals) throw new Error(`${refused} answers of ${url} were errors.`);
  if (requestsPerSecond === 0) throw new Error(`${url} answered nothing:\n${text}`);
  return {
    requestsPerSecond,
    requests: numberAfter(text, /(\d+) requests in /),
    p50: Number(p50) * (MICROSECONDS[unit ?? ''] ?? Number.NaN),
    refused,
  };
};
