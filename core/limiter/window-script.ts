/** The shared window's script with the names of its arguments: `window.lua` runs on a Redis of 5.0 or later. */
import type { RedisClient } from '../redis.js';
import { RedisScript } from '../redis-script.js';

const script = new RedisScript('core/limiter/window.lua');

/** Limits up to this are kept exactly; above, admissions are counted by sixtieths of the window. */
export const EXACT_UP_TO = 1000;

/** How many parts of the window an inexact limit is counted by. */
export const GRAINS = 60;

/** What a replica has admitted by itself, or what Redis may have lost: counted unless it has been. */
export interface Report {
  /** The replica's call that counts it. */
  readonly call: number;
  readonly ageMs: number;
  readonly count: number;
}

export interface WindowCall {
  readonly key: string;
  /** How many requests wait for a decision; 0 only reports. */
  readonly asked: number;
  readonly limit: number;
  readonly windowMs: number;
  /** Of letters and digits, unlike that of any other replica, and unlike this one's before its last start. */
  readonly replica: string;
  /** The number of this call, higher than that of any before. */
  readonly call: number;
  /** The last call inside the window that this replica knows to be counted, or 0. */
  readonly expected: number;
  readonly reports: readonly Report[];
}

export interface WindowReply {
  /** Undefined when nothing was counted because Redis does not stand where `expected` says, or is past `call`. */
  readonly granted?: { readonly admitted: number; readonly remaining: number; readonly resetMs: number };
  /** The replica's last call that Redis has counted; only without `granted`. */
  readonly last: number;
}

export const callWindow = async (redis: RedisClient, call: WindowCall): Promise<WindowReply> => {
  const window = call.windowMs * 1000;
  const grain = call.limit <= EXACT_UP_TO ? 1 : Math.ceil(window / GRAINS);
  const args = [call.asked, call.limit, window, grain, call.replica, call.call, call.expected];
  for (const { call: tag, ageMs, count } of call.reports) args.push(tag, Math.max(0, Math.floor(ageMs * 1000)), count);
  const [admitted, second, resetUs] = await script.run<[number, number, number]>(redis, call.key, args);
  return admitted < 0
    ? { last: second }
    : { last: call.call, granted: { admitted, remaining: second, resetMs: resetUs / 1000 } };
};
