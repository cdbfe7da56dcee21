/** Runs the open-loop generator on the core of the load. */
import { fileURLToPath } from 'node:url';
import type { ArrivalOrders, ArrivalResult } from './arrival.js';
import { LOAD_CORE, runPinned } from './pinned-process.js';

const program = fileURLToPath(new URL('arrival.js', import.meta.url));

export const runArrival = async (orders: ArrivalOrders): Promise<ArrivalResult> =>
  JSON.parse(await runPinned(LOAD_CORE, [process.execPath, program, JSON.stringify(orders)]));
