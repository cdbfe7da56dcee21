/** Runs the open-loop generator on the core of the load. */
import { fileURLToPath } from 'node:url';
import type { ArrivalOrders, ArrivalResult } from './arrival.js';
import { LOAD_CORE, runPinned } from './pinned-process.js';
import type { RequestList } from './request-list.js';

const program = fileURLToPath(new URL('arrival.js', import.meta.url));

export interface ArrivalOptions extends Omit<ArrivalOrders, 'requests'> {
  readonly requests: RequestList;
}

export const runArrival = async ({ requests, ...orders }: ArrivalOptions): Promise<ArrivalResult> => {
  const given: ArrivalOrders = { ...orders, requests: requests.file };
  return JSON.parse(await runPinned(LOAD_CORE, [process.execPath, program, JSON.stringify(given)]));
};
