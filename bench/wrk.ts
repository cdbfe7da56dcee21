/** wrk sends a request on each connection as soon as the previous response has arrived (a closed loop). */
import { join } from 'node:path';
import { packageRoot } from '../core/util/package.js';
import { exitedCpuSeconds, runLoad } from './process.js';
import type { RequestList } from './requests.js';

interface WrkOptions {
  readonly origin: string;
  readonly list: RequestList;
  readonly connections: number;
  readonly seconds: number;
}

interface WrkResult {
  readonly requestsPerSecond: number;
  readonly requests: number;
  readonly cpuSeconds: number;
}

const REPLAY = join(packageRoot, 'bench/replay.lua');

/** @throws if there were socket errors, or if the number of error responses differs from the expected number */
export const runWrk = async ({ origin, list, connections, seconds }: WrkOptions): Promise<WrkResult> => {
  const before = exitedCpuSeconds();
  const text = await runLoad([
    ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'],
    ...['-s', REPLAY, origin, '--', list.file],
  ]);
  const figure = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);
  const requests = figure(/(\d+) requests in /);
  const errors = figure(/Non-2xx or 3xx responses: (\d+)/);
  const socketErrors = /Socket errors: (.*)/.exec(text)?.[1];
  const requestsPerSecond = figure(/Requests\/sec:\s+([\d.]+)/);
  if (socketErrors && !/^connect 0, read 0, write 0, timeout 0/.test(socketErrors)) {
    throw new Error(`wrk had socket errors at ${origin}: ${socketErrors}`);
  }
  // Requests on different connections can finish out of order, so the count can differ by one per connection.
  const surplus = errors - list.errorsAmong(requests);
  if (Math.abs(surplus) > connections) {
    throw new Error(`${errors} of ${requests} responses from ${origin} were errors, ${surplus} more than expected.`);
  }
  if (requestsPerSecond === 0) throw new Error(`${origin} did not respond:\n${text}`);
  return { requestsPerSecond, requests, cpuSeconds: exitedCpuSeconds() - before };
};
