/**
 * Settings of V8 and of the system that keep a serving process fast. With V8's own, 12,000 requests a second on one
 * core bring a collection of the whole heap every six seconds, and tens of milliseconds with hardly any response.
 */
import { executionAsyncResource } from 'node:async_hooks';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { nodeEventLoop } from '../core/util/event-loop.js';

/**
 * Changes how V8 collects garbage. To be called before the first request.
 *
 * - No pretenuring: V8 allocates objects of a line of code in the old generation once a few of them have outlived a
 *   collection. A few dozen requests that wait while the service warms up suffice, and part of every later response
 *   would fill the old generation.
 * - The whole heap is collected when it has grown to four times its size instead of by half: once in three publications
 *   instead of twice in each. A collection delays requests by 5 to 10 ms, and two of those in a second are felt by more
 *   than one request in a hundred. Meanwhile the process takes a sixth to a third more memory.
 * - One thread collects the young generation: a few dozen kilobytes are alive there, which takes less time than waking
 *   another thread, and a woken thread may take the only core for milliseconds.
 */
export const collectGently = (): void => {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=300');
};

/** Objects that stay alive as long as the process. */
const alive: object[] = [];

/**
 * Keeps the compiled code of `process.nextTick` valid. To be called before the heap has been collected a few times.
 *
 * Node makes an object for each tick, of which a request has a dozen, and V8 compiles fast code for their hidden class.
 * A collection of the whole heap drops a hidden class without live objects; from then on a tick takes five times as
 * long, and a request a quarter longer, until the process ends. One object that stays alive prevents that.
 */
export const keepTicksFast = (): void => {
  process.nextTick(() => alive.push(executionAsyncResource()));
};

/**
 * Until the process has worked this long, the compiler is as important as the event loop: code that is not compiled yet
 * is slow. Counted in processor time, since requests warm a service up and may come late.
 */
export const WARM_UP_MS = 15_000;
const CHECK_MS = 1000;

/**
 * Gives the process's other threads a low priority once it has worked for `workedMs`. To be called when it serves.
 *
 * V8 marks the heap and compiles on up to four threads; Node reads files and compresses on four more. With one core,
 * each of them would get as much of it as the event loop. Their work can wait for spare time, and where the loop waits
 * for them, at the end of a collection, the core is theirs.
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
