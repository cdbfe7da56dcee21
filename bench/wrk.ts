/** Closed-loop load by wrk: as many requests as its connections can carry. */
import { join } from 'node:path';
import { packageRoot } from '../core/util/package.js';
import { endedCpuSeconds, LOAD_CORE, runPinned } from './pinned-process.js';
import type { RequestList } from './request-list.js';

export interface WrkOptions {
  /** With a list of requests, only its origin counts. */
  readonly url: string;
  readonly key: string;
  /** In place of URL, key and headers. */
  readonly requests?: RequestList;
  /** Beside the key. */
  readonly headers?: Readonly<Record<string, string>>;
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
  /** Microseconds. */
  readonly p99: number;
  /** Processor time of wrk itself, in seconds. */
  readonly cpu: number;
}

const REPLAY = join(packageRoot, 'bench/replay.lua');

const MICROSECONDS: Readonly<Record<string, number>> = { us: 1, ms: 1000, s: 1e6 };

const numberAfter = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);

const latencyAt = (text: string, percentile: number): number => {
  const [, value, unit] = new RegExp(`${percentile}%\\s+([\\d.]+)(us|ms|s)`).exec(text) ?? [];
  return Number(value) * (MICROSECONDS[unit ?? ''] ?? Number.NaN);
};

const requestArguments = ({ url, key, headers = {}, requests }: WrkOptions): string[] => {
  if (requests) return ['-s', REPLAY, url, '--', requests.file];
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  return ['-H', `Authorization: Bearer ${key}`, '-H', 'Accept: application/json', ...given, url];
};

/** @throws when a response was an error that should be none: a benchmark of errors proves nothing */
export const runWrk = async (options: WrkOptions): Promise<WrkResult> => {
  const { url, connections, seconds, requests: list, cores = LOAD_CORE, refusals = false } = options;
  const before = endedCpuSeconds();
  const text = await runPinned(cores, [
    ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '--latency'],
    ...requestArguments(options),
  ]);
  const requests = numberAfter(text, /(\d+) requests in /);
  const errors = numberAfter(text, /Non-2xx or 3xx responses: (\d+)/);
  const socketErrors = /Socket errors: (.*)/.exec(text)?.[1];
  const requestsPerSecond = numberAfter(text, /Requests\/sec:\s+([\d.]+)/);
  if (socketErrors && !/^connect 0, read 0, write 0, timeout 0/.test(socketErrors)) {
    throw new Error(`wrk met socket errors at ${url}: ${socketErrors}`);
  }
  // As many requests as there are connections may have overtaken each other.
  const surplus = errors - (list?.errorsAmong(requests) ?? 0);
  if (Math.abs(surplus) > (list ? connections : 0) && !refusals) {
    throw new Error(`Of ${requests} responses of ${url}, ${errors} were errors: ${surplus} more than there should be.`);
  }
  if (requestsPerSecond === 0) throw new Error(`${url} answered nothing:\n${text}`);
  return {
    requestsPerSecond,
    requests,
    p50: latencyAt(text, 50),
    p99: latencyAt(text, 99),
    cpu: endedCpuSeconds() - before,
  };
};
