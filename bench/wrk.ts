/** Closed-loop load by wrk: as many requests as its connections can carry. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endedCpuSeconds, LOAD_CORE, runPinned } from './pinned-process.js';

export interface WrkOptions {
  readonly url: string;
  /** One, or many of which each request takes the next. */
  readonly key: string | readonly string[];
  /** In place of the URL's: each request takes the next. */
  readonly paths?: readonly string[];
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
  readonly refused: number;
  /** Processor time of wrk itself, in seconds. */
  readonly cpu: number;
}

const MICROSECONDS: Readonly<Record<string, number>> = { us: 1, ms: 1000, s: 1e6 };

const numberAfter = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);

/** Requests that differ go by a script that makes all of them beforehand: so that it costs wrk no more than one. */
const withRequests = async <T>(
  { url, key, headers = {}, paths = [new URL(url).pathname] }: WrkOptions,
  use: (args: readonly string[]) => Promise<T>,
): Promise<T> => {
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  if (typeof key === 'string' && paths.length === 1) return use(['-H', `Authorization: Bearer ${key}`, ...given]);
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-wrk-'));
  try {
    const script = join(folder, 'requests.lua');
    await writeFile(script, scriptOf(typeof key === 'string' ? [key] : key, paths));
    return await use(['-s', script, ...given]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const listOf = (texts: readonly string[]): string => `{ ${texts.map((text) => `'${text}'`).join(', ')} }`;

const scriptOf = (keys: readonly string[], paths: readonly string[]): string => `
local keys, paths, requests, next = ${listOf(keys)}, ${listOf(paths)}, {}, 0
init = function()
  for i = 1, math.max(#keys, #paths) do
    wrk.headers['Authorization'] = 'Bearer ' .. keys[(i - 1) % #keys + 1]
    requests[i] = wrk.format(nil, paths[(i - 1) % #paths + 1])
  end
end
request = function()
  next = next % #requests + 1
  return requests[next]
end
`;

/** @throws when any request failed: a benchmark of errors proves nothing */
export const runWrk = async (options: WrkOptions): Promise<WrkResult> => {
  const { url, connections, seconds, cores = LOAD_CORE, refusals = false } = options;
  const before = endedCpuSeconds();
  const text = await withRequests(options, (requestArguments) =>
    runPinned(cores, [
      ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '--latency'],
      ...[...requestArguments, '-H', 'Accept: application/json', url],
    ]),
  );
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
    cpu: endedCpuSeconds() - before,
  };
};
