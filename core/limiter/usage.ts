/** What callers use by the UTC day, and the days and months that quotas follow. */
import type { DayUsage, Decision, QuotaState, Quotas } from '../contracts/limiter.js';

export const DAY_MS = 86_400_000;

/** Usage is kept for this month and the one before. */
export const KEPT_DAYS = 62;

/** A day as its number since 1970-01-01. @param ms since 1970 */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** The first day of a day's month, or of one so many months later. */
const monthStart = (day: number, later = 0): number => {
  const date = new Date(day * DAY_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1) / DAY_MS;
};

export interface UsedDay {
  readonly day: number;
  readonly requests: number;
  readonly refused: number;
}

/** Requests of a caller by the day, for as many days as are kept. */
export class UsedDays {
  #days: { day: number; requests: number; refused: number }[] = [];

  constructor(readonly keptDays: number) {}

  /** Counts requests that passed, or were refused. */
  add(day: number, passed: boolean, count = 1): void {
    let entry = this.#days.at(-1);
    // A clock that was set back is followed, so that days may stand in any order.
    if (entry?.day !== day) entry = this.#days.find((each) => each.day === day);
    if (entry === undefined) {
      this.#days = this.#days.filter((each) => each.day > day - this.keptDays);
      entry = { day, requests: 0, refused: 0 };
      this.#days.push(entry);
    }
    if (passed) entry.requests += count;
    else entry.refused += count;
  }

  get all(): readonly UsedDay[] {
    return this.#days;
  }

  /** Requests of a day, and of its month. */
  used(day: number): Used {
    const first = monthStart(day);
    const used = { day: 0, month: 0 };
    for (const each of this.#days) {
      if (each.day === day) used.day = each.requests;
      if (each.day >= first) used.month += each.requests;
    }
    return used;
  }
}

/** Requests of a caller on a day, and in the month of that day. */
export interface Used {
  readonly day: number;
  readonly month: number;
}

/** The days of this month and the one before, oldest first. @param now milliseconds since 1970 */
export const usageOf = (days: readonly UsedDay[], now: number): readonly DayUsage[] => {
  const first = monthStart(dayOf(now), -1);
  return days
    .filter(({ day, requests, refused }) => day >= first && requests + refused > 0)
    .sort((a, b) => a.day - b.day)
    .map(({ day, requests, refused }) => ({
      date: new Date(day * DAY_MS).toISOString().slice(0, 10),
      requests,
      refused,
    }));
};

/**
 * Requests of today and of this month.
 * @param now milliseconds since 1970
 * @param which those that passed, or those that were refused
 */
export const usedOf = (days: readonly DayUsage[], now: number, which: 'requests' | 'refused' = 'requests'): Used => {
  const today = new Date(now).toISOString().slice(0, 10);
  const on = (prefix: string) => days.reduce((sum, day) => sum + (day.date.startsWith(prefix) ? day[which] : 0), 0);
  return { day: on(today), month: on(today.slice(0, 7)) };
};

/** Of another day than it was heard on: nothing of that day yet, nor of another month. */
export const usedOn = (day: number, used: Used, heardOn: number): Used =>
  day === heardOn ? used : { day: 0, month: monthStart(day) === monthStart(heardOn) ? used.month : 0 };

/** How many requests more a caller may send, by the quota with the least left. */
export const leftOf = ({ perDay, perMonth }: Quotas, used: Used): number =>
  Math.max(
    0,
    Math.min(
      perDay === null ? Number.POSITIVE_INFINITY : perDay - used.day,
      perMonth === null ? Number.POSITIVE_INFINITY : perMonth - used.month,
    ),
  );

/** Days, of which the last is not part of it. */
interface Span {
  readonly start: number;
  readonly end: number;
}

const state = (name: QuotaState['name'], quota: number, used: number, now: number, span: Span): QuotaState => ({
  name,
  quota,
  remaining: Math.max(0, quota - used),
  resetMs: span.end * DAY_MS - now,
  lengthMs: (span.end - span.start) * DAY_MS,
});

/** The state of each quota that a caller has. @param now milliseconds since 1970, on the day that `used` is of */
export const quotaStates = ({ perDay, perMonth }: Quotas, used: Used, now: number): readonly QuotaState[] => {
  const day = dayOf(now);
  return [
    ...(perDay === null ? [] : [state('day', perDay, used.day, now, { start: day, end: day + 1 })]),
    ...(perMonth === null
      ? []
      : [state('month', perMonth, used.month, now, { start: monthStart(day), end: monthStart(day, 1) })]),
  ];
};

/** A decision with the state of the caller's quotas, where it has any. */
export const withQuotas = (decision: Decision, quotas: Decision['quotas']): Decision =>
  quotas ? { ...decision, quotas } : decision;
