/**
 * Tunes V8 and the operating system for a process that serves requests. With the defaults of V8, 12,000 requests per
 * second on one core cause a full garbage collection every six seconds, which delays responses by tens of milliseconds.
 */
import { executionAsyncResource } from 'node:async_hooks';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { nodeEventLoop } from '../core/util/event-loop.js';

/**
 * Tunes V8's garbage collection. Must be called before the first request.
 *
 * - Pretenuring is turned off. If objects from an allocation site survive collections, V8 allocates later objects from
 *   that site in the old generation. Requests that wait during warm-up would trigger this, and later responses would
 *   then fill the old generation.
 * - A full collection starts when the heap has grown to four times its size, instead of one and a half times. This
 *   reduces full collections from two per publication to one per three publications. Each full collection delays
 *   requests by 5 to 10 ms. In return, the process uses 17 to 33% more memory.
 * - A single thread collects the young generation, which contains only a few dozen kilobytes of live objects. Waking a
 *   second thread would take longer than the collection.
 */
export const collectGently = (): void => {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=300');
};

/** If startup takes more CPU time than this, in milliseconds, the service is probably loading a large dataset. */
const LARGE_START_MS = 500;
const CHECK_START_MS = 50;

let startTimer: NodeJS.Timeout | undefined;

/**
 * Disables V8's optimizing compiler during startup, where it would spend a third of the CPU time on code that seldom
 * runs again. Optimization resumes when `resumeOptimization` is called. It also resumes during a long startup, which
 * benefits from optimized code.
 *
 * Must be called before the modules of the service are imported.
 */
export const pauseOptimization = (): void => {
  setFlagsFromString('--no-opt');
  startTimer = setInterval(() => {
    const { user, system } = process.cpuUsage();
    if (user + system > LARGE_START_MS * 1000) resumeOptimization();
  }, CHECK_START_MS).unref();
};

export const resumeOptimization = (): void => {
  clearInterval(startTimer);
  setFlagsFromString('--opt');
};

const alive: object[] = [];

/**
 * Keeps the compiled code of `process.nextTick` valid. Must be called at startup.
 * Node creates an object for each tick, about a dozen per request, and V8 compiles optimized code for their hidden
 * class. If no such object is alive during a full garbage collection, V8 drops the hidden class. Afterwards, ticks
 * take five times as long, and requests 25% longer. Keeping one object alive prevents this.
 */
export const keepTicksFast = (): void => {
  process.nextTick(() => alive.push(executionAsyncResource()));
};

/** CPU time in milliseconds after which most code is compiled. Until then, compiler threads keep normal priority. */
const WARM_UP_MS = 15_000;
const CHECK_MS = 1000;

/**
 * Lowers the priority of all threads except the event loop after `workedMs` milliseconds of CPU time. Must be called
 * when the process starts to serve requests.
 * V8 marks the heap and compiles on up to four threads, and Node reads files and compresses on four more. On a single
 * core, each of these threads would otherwise get as much time as the event loop. Their work can wait. Whenever the
 * event loop waits for them, the core is idle anyway.
 */
export const yieldToEventLoop = (workedMs = WARM_UP_MS): void => {
  const timer = setInterval(() => {
    if (nodeEventLoop.worked() < workedMs) return;
    clearInterval(timer);
    for (const thread of threads()) if (thread !== process.pid) yieldOne(thread);
  }, CHECK_MS).unref();
};

/** Returns an empty list on systems other than Linux, where priorities cannot be set per thread. */
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
    // The thread has exited, or the system does not allow changing its priority.
  }
};
