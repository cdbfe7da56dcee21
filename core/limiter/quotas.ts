import type { DayUsage, QuotaState, Quotas } from '../contracts/limiter.js';

export const DAY_MS = 86_400_000;

/** Usage is kept for 62 days, which is enough to cover this month and last month. */
export const KEPT_DAYS = 62;

export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/**
 * Returns the UTC day of a bucket. A bucket that ends at midnight belongs to the day before midnight.
 * @param end the end of the bucket in microseconds since 1970
 */
export const dayOfBucket = (end: number): number => Math.floor((end - 1) / (DAY_MS * 1000));

const monthStart = (day: number, later = 0): number => {
  const date = new Date(day * DAY_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1) / DAY_MS;
};

export interface DayCount {
  readonly day: number;
  readonly requests: number;
  readonly refused: number;
}

export interface Used {
  readonly day: number;
  readonly month: number;
}

export class UsageByDay {
  #days: { day: number; requests: number; refused: number }[] = [];

  constructor(readonly keptDays: number) {}

  add(day: number, allowed: boolean, count = 1): void {
    let entry = this.#days.at(-1);
    // Days can be out of order if the clock was set back.
    if (entry?.day !== day) entry = this.#days.find((each) => each.day === day);
    if (entry === undefined) {
      this.#days = this.#days.filter((each) => each.day > day - this.keptDays);
      entry = { day, requests: 0, refused: 0 };
      this.#days.push(entry);
    }
    if (allowed) entry.requests += count;
    else entry.refused += count;
  }

  get all(): readonly DayCount[] {
    return this.#days;
  }

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

export const usageReport = (days: readonly DayCount[], now: number): readonly DayUsage[] => {
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

export const usedNow = (days: readonly DayUsage[], now: number, which: 'requests' | 'refused' = 'requests'): Used => {
  const today = new Date(now).toISOString().slice(0, 10);
  const on = (prefix: string) => days.reduce((sum, day) => sum + (day.date.startsWith(prefix) ? day[which] : 0), 0);
  return { day: on(today), month: on(today.slice(0, 7)) };
};

export const carryOver = (used: Used, readOn: number, day: number): Used =>
  day === readOn ? used : { day: 0, month: monthStart(day) === monthStart(readOn) ? used.month : 0 };

export const quotaLeft = ({ perDay, perMonth }: Quotas, used: Used): number =>
  Math.max(
    0,
    Math.min(
      perDay === null ? Number.POSITIVE_INFINITY : perDay - used.day,
      perMonth === null ? Number.POSITIVE_INFINITY : perMonth - used.month,
    ),
  );

const state = (
  name: QuotaState['name'],
  quota: number,
  used: number,
  now: number,
  [start, end]: readonly [start: number, end: number],
): QuotaState => ({
  name,
  quota,
  remaining: Math.max(0, quota - used),
  resetMs: end * DAY_MS - now,
  lengthMs: (end - start) * DAY_MS,
});

export const quotaStates = ({ perDay, perMonth }: Quotas, used: Used, now: number): readonly QuotaState[] => {
  const day = dayOf(now);
  return [
    ...(perDay === null ? [] : [state('day', perDay, used.day, now, [day, day + 1])]),
    ...(perMonth === null ? [] : [state('month', perMonth, used.month, now, [monthStart(day), monthStart(day, 1)])]),
  ];
};
