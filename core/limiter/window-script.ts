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
  /** How many requests wait for a decision; 0 only reports, and gives back. */
  readonly asked: number;
  /** How many more are expected before the grain is over; 0 where limits are exact. */
  readonly ahead: number;
  /** What is left of the last lease. */
  readonly unused: Leased;
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

/** Slots that are counted although nobody has used them yet, dated by the end of the grain that they are for. */
export interface Leased {
  readonly count: number;
  /** What Redis knows them by: microseconds of its clock. */
  readonly stamp: number;
}

export interface Granted {
  readonly admitted: number;
  /** How many more would pass now, without those that are leased. */
  readonly remaining: number;
  readonly resetMs: number;
  readonly leased: Leased;
  /** How long the lease can be used from when Redis looked at its clock. */
  readonly leaseMs: number;
}

export interface WindowReply {
  /** Undefined when nothing was counted because Redis does not stand where `expected` says, or is past `call`. */
  readonly granted?: Granted;
  /** The replica's last call that Redis has counted; only without `granted`. */
  readonly last: number;
}

/** The length of a grain, in milliseconds: 0 where every admission keeps its own time. */
export const grainMs = (limit: number, windowMs: number): number => (limit <= EXACT_UP_TO ? 0 : windowMs / GRAINS);

export const callWindow = async (redis: RedisClient, call: WindowCall): Promise<WindowReply> => {
  const { asked, limit, windowMs, replica, expected, ahead, unused } = call;
  const grain = Math.max(1, Math.ceil(grainMs(limit, windowMs) * 1000));
  const args = [asked, limit, windowMs * 1000, grain, replica, call.call, expected, ahead, unused.count, unused.stamp];
  for (const { call: tag, ageMs, count } of call.reports) args.push(tag, Math.max(0, Math.floor(ageMs * 1000)), count);
  const [admitted, second, resetUs, leased, stamp, leaseUs] = await script.run<Reply>(redis, call.key, args);
  if (admitted < 0) return { last: second };
  return {
    last: call.call,
    granted: {
      admitted,
      remaining: second,
      resetMs: resetUs / 1000,
      leased: { count: leased, stamp },
      leaseMs: leaseUs / 1000,
    },
  };
};

/** Of a call that was not applied, only the first two: -1, and the last that was. */
type Reply = [number, number, number, number, number, number];
