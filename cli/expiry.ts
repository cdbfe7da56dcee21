import { momentIn, UsageError } from './options.js';

const MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60, w: 7 * 24 * 60 };

/**
 * @param text a duration such as `15m`, `12h`, `30d` or `2w`, a date (midnight UTC), or a time
 * @throws UsageError if the text cannot be parsed or the time is in the past
 */
export const parseExpiry = (text: string, now: number, option = '--expires'): string => {
  const [, amount, unit = ''] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  const time = amount === undefined ? momentIn(text) : now + Number(amount) * (MINUTES[unit] ?? 0) * 60_000;
  if (Number.isNaN(time)) {
    throw new UsageError(
      `${option}: "${text}" is neither a date nor a duration; write 15m, 12h, 30d, 2w, 2027-01-31 or 2027-01-31T12:00:00Z.`,
    );
  }
  if (time <= now) throw new UsageError(`${option}: "${text}" is not in the future.`);
  return new Date(time).toISOString();
};
