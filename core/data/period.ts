import { CADENCES, type Cadence, type Manifest, type Source } from '../contracts/dataset.js';

const MONTHS: Readonly<Partial<Record<Cadence, number>>> = {
  monthly: 1,
  quarterly: 3,
  semiannual: 6,
  annual: 12,
  'five-year': 60,
};

export const monthsIn = (cadence: Cadence): number | undefined => MONTHS[cadence];

export const cadenceOfMonths = (months: number): Cadence | undefined =>
  CADENCES.find((each) => MONTHS[each] === months);

const DAYS: Readonly<Partial<Record<Cadence, number>>> = { weekly: 7, biweekly: 14 };

/** Returns the start of the period after `start`. For daily and irregular sources, a period is one day. */
export const nextPeriod = (start: string, cadence: Cadence): string => {
  const next = new Date(`${start}T00:00:00Z`);
  const months = MONTHS[cadence];
  if (months !== undefined) next.setUTCMonth(next.getUTCMonth() + months);
  else next.setUTCDate(next.getUTCDate() + (DAYS[cadence] ?? 1));
  return next.toISOString().slice(0, 10);
};

export const ageOf = (
  { latest_period, cadence }: Pick<Source, 'latest_period' | 'cadence'>,
  now: Date,
): number | null =>
  latest_period === null
    ? null
    : Math.max(0, Math.floor((now.getTime() - Date.parse(nextPeriod(latest_period, cadence))) / 1000));

/** Returns the age of a source. Sources of a synthetic dataset never receive new data, so they do not age. */
export const ageIn = ({ synthetic }: Pick<Manifest, 'synthetic'>, source: Source, now: Date): number | null => {
  const age = ageOf(source, now);
  return synthetic && age !== null ? 0 : age;
};
