/** What a contender's limiter lets pass in a minute, and what its Redis holds for a caller. */
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { mostInWindow, type Passed } from './most-in-window.js';
import { redisFigures } from './redis-figures.js';

const WINDOW_MS = 60_000;
const CONNECTIONS = 8;
/** The rush begins so long before the border of a window that began with the first request, and ends so long after. */
const RUSH_MS = { before: 4000, after: 6000 };
/** After a refusal, until the same connection asks again. */
const REFUSED_PAUSE_MS = 100;
/** Ten times a second for a minute is all that a key of 600 may ask. */
const TICK_MS = 100;
/** When memory is measured: before the rush, and before anything of the minute may be forgotten. */
const MEASURED_AT_MS = WINDOW_MS - 5000;

export interface Probed {
  /** The address of one market. */
  readonly url: string;
  readonly redis: string;
}

export interface LimitFigures {
  /** The most requests that one key of 600 a minute got through in 60 seconds. */
  readonly most: number;
  /** Bytes of Redis for a caller who has asked once. */
  readonly idleBytes: number;
  /** Bytes of Redis for a caller who asks evenly for all that the limit allows; null where that was measured too late. */
  readonly busyBytes: number | null;
}

export interface ProbeKeys {
  readonly rushing: string;
  readonly idle: readonly string[];
  readonly busy: readonly string[];
}

class Caller {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** @returns when it passed, undefined where it was refused */
  async ask(key: string): Promise<Passed | undefined> {
    const sentAt = performance.now();
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { Authorization: `Bearer ${key}`, Accept: 'application/json' };
      get(this.#url, { agent: this.#agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      }).on('error', reject);
    });
    if (status === 429) return undefined;
    if (status !== 200) throw new Error(`${this.#url} answers ${status}.`);
    return { sentAt, receivedAt: performance.now() };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** One request, then nothing until shortly before the window that it began ends, then as many as there is room for. */
const rush = async (caller: Caller, key: string): Promise<number> => {
  const first = await caller.ask(key);
  if (!first) throw new Error('The first request of a key was refused.');
  const passed = [first];
  const border = first.sentAt + WINDOW_MS;
  await delay(border - RUSH_MS.before - performance.now());
  const press = async (): Promise<void> => {
    while (performance.now() < border + RUSH_MS.after) {
      const each = await caller.ask(key);
      if (each) passed.push(each);
      else await delay(REFUSED_PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, press));
  return mostInWindow(passed, WINDOW_MS);
};

/** @returns bytes a caller: the memory of Redis before and after `use`, divided */
const bytesEach = async (redis: string, callers: number, use: () => Promise<void>): Promise<number> => {
  const before = await redisFigures(redis);
  await use();
  const after = await redisFigures(redis);
  return (after.dataBytes - before.dataBytes) / callers;
};

const askOnce = async (caller: Caller, keys: readonly string[]): Promise<void> => {
  const queue = keys.values();
  const work = async (): Promise<void> => {
    for (const key of queue) await caller.ask(key);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
};

const askEvenly = async (caller: Caller, keys: readonly string[], end: number): Promise<void> => {
  for (let next = performance.now(); next < end; next += TICK_MS) {
    await delay(Math.max(0, next - performance.now()));
    await Promise.all(keys.map((key) => caller.ask(key)));
  }
};

/** On a Redis that nobody uses beside it. Takes a minute, nearly all of it waiting: probe all contenders at a time. */
export const probeLimits = async ({ url, redis }: Probed, keys: ProbeKeys): Promise<LimitFigures> => {
  const caller = new Caller(url);
  try {
    const began = performance.now();
    const idleBytes = await bytesEach(redis, keys.idle.length, () => askOnce(caller, keys.idle));
    const rushed = rush(caller, keys.rushing);
    const busyBytes = await bytesEach(redis, keys.busy.length + 1, () =>
      askEvenly(caller, keys.busy, began + MEASURED_AT_MS),
    );
    const isLate = performance.now() > began + WINDOW_MS;
    return { most: await rushed, idleBytes, busyBytes: isLate ? null : busyBytes };
  } finally {
    caller.close();
  }
};
