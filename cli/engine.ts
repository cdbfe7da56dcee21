/**
 * What the serving process asks of V8 and of the system, so that its code stays fast and requests wait less for the
 * collection of garbage. Left alone, at 12,000 requests a second on one core, there is a collection of the whole heap
 * every six seconds, and tens of milliseconds in which hardly anybody is answered.
 */
import { executionAsyncResource } from 'node:async_hooks';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { nodeEventLoop } from '../core/scheduling/event-loop.js';

/**
 * To be called before the first request.
 *
 * V8 watches where objects are made that outlive a collection, and makes those of the same line of code among the old
 * ones from then on. A few dozen requests that wait while the service warms up are enough: then part of every answer,
 * garbage a moment later, fills the old space instead.
 *
 * And it collects the whole heap when that, with the bytes that belong to its objects, has grown by half of the heap:
 * most of a dataset are such bytes, so that this is twice for every new version of the data. The requests that come
 * meanwhile wait for 5 to 10 ms, and two of those in a second are more than one request in a hundred. To four times,
 * the most that V8 would choose itself, it is once for three versions; that costs memory meanwhile: a sixth to a third
 * more.
 *
 * For the young generation it wakes as many as four threads to help, each time, twenty times a second. What is alive
 * there while requests are answered is a few dozen kilobytes: that is gone through sooner than a thread is woken, and
 * one that is woken may keep the core for milliseconds where there is one for all.
 */
export const collectGently = (): void => {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=300');
};

/** Objects that stay alive as long as the process. */
const alive: object[] = [];

/**
 * To be called early, before the heap has been collected a few times.
 *
 * Node makes an object for each `process.nextTick`, of which a request has a dozen, and V8 compiles fast code for the
 * hidden class of these objects. A collection of the whole heap drops a hidden class without live objects, as in most
 * moments. The next object has a new hidden class, and V8 then uses slow general code: a tick takes five times as long,
 * and a request a quarter longer, until the process ends. One object that stays alive prevents that.
 */
export const keepTicksFast = (): void => {
  process.nextTick(() => alive.push(executionAsyncResource()));
};

/**
 * At first the loop waits for the compiler more than the other way round: code that is not compiled yet is slow, and as
 * long as the loop wants the whole core, a thread of low priority gets to nearly nothing. In processor time, since who
 * warms a service up are those whom it answers, and they may come late.
 */
export const WARM_UP_MS = 15_000;
const LOOK_MS = 1000;

/**
 * To be called when the process has begun to serve: its other threads let the event loop go first, where both want the
 * same core, once the process has worked for so long. V8 marks the heap and compiles on up to four threads, Node reads
 * files and compresses on four more; on a machine or in a container with one core each of them would get as much of it
 * as the loop does. What they do can wait for time to spare, and where the loop waits for them, at the end of a
 * collection, it leaves them the core.
 */
export const yieldToEventLoop = (workedMs = WARM_UP_MS): void => {
  const timer = setInterval(() => {
    if (nodeEventLoop.worked() < workedMs) return;
    clearInterval(timer);
    for (const thread of threads()) if (thread !== process.pid) yieldOne(thread);
  }, LOOK_MS).unref();
};

/** Linux has priorities by thread, and says which ones there are; elsewhere all stays as it is. */
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
    // The thread has ended, or the system does not allow it: then its priority stays.
  }
};
