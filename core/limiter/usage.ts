import type { DayUsage, Quotas } from '../contracts/limiter.js';
import type { RedisClient } from '../redis/connection.js';
import { isAddress } from './caller-map.js';
import type { UsageReport } from './calls.js';
import { carryOver, type DayCount, quotaLeft, UsageByDay, type Used, usageReport } from './quotas.js';
import { hashesOf } from './script.js';

const REPORTED_DAYS = 2;

/** Requests that this replica has allowed locally since the last reply from Redis. */
interface LocalUsage {
  readonly day: number;
  readonly onDay: number;
  readonly inMonth: number;
}

/**
 * Counts the usage of one caller on this replica. Redis adds granted permits to its own count. Rejected requests are
 * counted only here, and reported with the next call.
 */
export class UsageCounter {
  readonly #days = new UsageByDay(REPORTED_DAYS);
  #hasRejections = false;
  /** The usage across all replicas according to the last reply from Redis, and the day of that reply. */
  #used: Used = { day: 0, month: 0 };
  #readOn = 0;
  #local: LocalUsage = { day: 0, onDay: 0, inMonth: 0 };

  constructor(readonly id: number) {}

  addGranted(day: number, count: number): void {
    if (count > 0) this.#days.add(day, true, count);
  }

  addRejected(day: number, count: number): void {
    if (count === 0) return;
    this.#days.add(day, false, count);
    this.#hasRejections = true;
  }

  addLocal(day: number): void {
    this.#days.add(day, true);
    const { day: onDay, month: inMonth } = this.#localUsed(day);
    this.#local = { day, onDay: onDay + 1, inMonth: inMonth + 1 };
  }

  get hasRejections(): boolean {
    return this.#hasRejections;
  }

  /** Returns the usage to report to Redis. A resync reports all usage. Other calls report only new rejections. */
  report(isResync: boolean): UsageReport['days'] {
    const isNeeded = isResync || this.#hasRejections;
    this.#hasRejections = false;
    if (!isNeeded) return [];
    return this.#days.all.map(({ day, requests, refused }) => ({
      day,
      requests: isResync ? requests : undefined,
      refused,
    }));
  }

  /**
   * Stores the usage from a Redis reply, and resets the local count. The reply must already include all requests that
   * this replica has counted locally.
   */
  receive(day: number, used: Used): void {
    this.#used = used;
    this.#readOn = day;
    this.#local = { day, onDay: 0, inMonth: 0 };
  }

  used(day: number): Used {
    const known = carryOver(this.#used, this.#readOn, day);
    const local = this.#localUsed(day);
    return { day: known.day + local.day, month: known.month + local.month };
  }

  /** The local share is the remaining quota in the last reply from Redis, divided by the number of replicas. */
  hasLocalShare({ perDay, perMonth }: Quotas, day: number, replicas: number): boolean {
    const known = carryOver(this.#used, this.#readOn, day);
    const ofDay = quotaLeft({ perDay, perMonth: null }, known) / replicas;
    const ofMonth = quotaLeft({ perDay: null, perMonth }, known) / replicas;
    const local = this.#localUsed(day);
    return local.day + 1 <= ofDay && local.month + 1 <= ofMonth;
  }

  #localUsed(on: number): Used {
    const { day, onDay, inMonth } = this.#local;
    return carryOver({ day: onDay, month: inMonth }, day, on);
  }
}

/** The layout in which `quotas.lua` stores usage. */
const HEAD_BYTES = 11;
const DAY_BYTES = 14;
const COUNTER_BYTES = 18;

export const unpackDays = (packed: Buffer): DayCount[] => {
  const end = packed.length - packed.readUInt32BE(7) * COUNTER_BYTES;
  const days: DayCount[] = [];
  for (let at = HEAD_BYTES; at < end; at += DAY_BYTES) {
    days.push({
      day: packed.readUInt16BE(at),
      requests: packed.readUIntBE(at + 2, 6),
      refused: packed.readUIntBE(at + 8, 6),
    });
  }
  return days;
};

export const readUsage = async (
  redis: RedisClient,
  key: string,
  caller: string,
  now: number,
): Promise<readonly DayUsage[]> => {
  const [keys, ...addresses] = hashesOf(key);
  for (const hash of isAddress(caller) ? addresses : [keys as string]) {
    const packed = await redis.hgetBuffer(hash, `usage:${caller}`);
    if (packed) return usageReport(unpackDays(packed), now);
  }
  return [];
};
