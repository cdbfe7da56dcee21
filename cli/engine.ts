/**
 * Settings of V8 and the system for a serving process. With the defaults of V8, 12,000 requests per second on one core
 * cause a full garbage collection every six seconds, which delays responses by tens of milliseconds.
 */
import { executionAsyncResource } from 'node:async_hooks';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { nodeEventLoop } from '../core/util/event-loop.js';

/**
 * Changes how V8 collects garbage. To be called before the first request.
 *
 * - No pretenuring. V8 allocates the objects of a line of code in the old generation if some of them survived a
 *   collection. Requests that wait while the service warms up cause this, and later responses then fill the old
 *   generation.
 * - A full collection when the heap has grown to four times its size, instead of by half: once in three publications
 *   instead of twice in each. A collection delays requests by 5 to 10 ms. The process uses 17 to 33% more memory.
 * - One thread for the young generation. Only a few dozen kilobytes are alive there, so waking a second thread takes
 *   longer than the work.
 */
export const collectGently = (): void => {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=300');
};

/** Objects that stay alive until the process ends. */
const alive: object[] = [];

/**
 * Keeps the compiled code of `process.nextTick` valid. To be called at the start.
 *
 * Node creates an object for each tick, a dozen per request, and V8 compiles fast code for their hidden class. A full
 * garbage collection drops a hidden class without live objects. From then on a tick takes five times as long, and a
 * request 25% longer. One object that stays alive prevents it.
 */
export const keepTicksFast = (): void => {
  process.nextTick(() => alive.push(executionAsyncResource()));
};

/**
 * Processor time until a service is warm. Before, compiling is as important as the event loop, since code that is not
 * compiled is slow.
 */
export const WARM_UP_MS = 15_000;
const CHECK_MS = 1000;

/**
 * Gives the other threads of the process a low priority after `workedMs` of processor time. To be called when it
 * serves.
 *
 * V8 marks the heap and compiles on up to four threads; Node reads files and compresses on four more. On one core, each
 * would get as much time as the event loop. Their work can wait, and when the loop waits for them, the core is free.
 */
export const yieldToEventLoop = (workedMs = WARM_UP_MS): void => {
  const timer = setInterval(() => {
    if (nodeEventLoop.worked() < workedMs) return;
    clearInterval(timer);
    for (const thread of threads()) if (thread !== process.pid) yieldOne(thread);
  }, CHECK_MS).unref();
};

/** The threads of this process; none outside Linux, where priorities are not by thread. */
const threads = (): readonly number[] => {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [];
  }
};

const yieldOne = (thread: number): void => {
  try {
    setPriority(thread, constants.priority.PRIORITY_LOW);
  } catch {
    // The thread has ended, or the system does not allow a change of its priority.
  }
};
