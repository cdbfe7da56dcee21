/**
 * Tunes V8 and the operating system for a process that serves requests. With V8's defaults, 12,000 requests per second
 * on one core cause a full garbage collection every six seconds, which delays responses by tens of milliseconds.
 */
import { executionAsyncResource } from 'node:async_hooks';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { nodeEventLoop } from '../core/util/event-loop.js';

/**
 * Changes how V8 collects garbage. Must be called before the first request.
 *
 * - Pretenuring is off. If objects that a line of code creates have survived a collection, V8 allocates all later ones
 *   in the old generation. Requests that wait while the service warms up would cause this, and later responses would
 *   then fill the old generation.
 * - A full collection starts when the heap has grown to four times its size, and not when it has grown by half. This is
 *   once in three publications instead of twice in each one. A collection delays requests by 5 to 10 ms. The process
 *   uses 17 to 33% more memory.
 * - The young generation is collected by one thread. Only a few dozen kilobytes in it are alive, so waking a second
 *   thread would take longer than the collection.
 */
export const collectGently = (): void => {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=300');
};

/** Objects that stay alive until the process ends. */
const alive: object[] = [];

/**
 * Keeps the compiled code of `process.nextTick` valid. Must be called at startup.
 *
 * Node creates an object for each tick, which is about a dozen per request, and V8 compiles fast code for their hidden
 * class. If no such object is alive during a full garbage collection, V8 drops the hidden class. From then on, a tick
 * takes five times as long, and a request takes 25% longer. Keeping one object alive prevents this.
 */
export const keepTicksFast = (): void => {
  process.nextTick(() => alive.push(executionAsyncResource()));
};

/**
 * The CPU time after which a service is warm, in milliseconds. Before that, compiling is as important as the event
 * loop, since code that is not compiled yet is slow.
 */
export const WARM_UP_MS = 15_000;
const CHECK_MS = 1000;

/**
 * Gives the other threads of the process a low priority after `workedMs` milliseconds of CPU time. Must be called when
 * the process starts to serve.
 *
 * V8 marks the heap and compiles on up to four threads, and Node reads files and compresses on four more. On one core,
 * each of them would get as much time as the event loop. Their work can wait, and whenever the event loop waits for
 * them, the core is free.
 */
export const yieldToEventLoop = (workedMs = WARM_UP_MS): void => {
  const timer = setInterval(() => {
    if (nodeEventLoop.worked() < workedMs) return;
    clearInterval(timer);
    for (const thread of threads()) if (thread !== process.pid) yieldOne(thread);
  }, CHECK_MS).unref();
};

/**
 * Returns the threads of this process. The list is empty on systems other than Linux, which do not have thread
 * priorities.
 */
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
