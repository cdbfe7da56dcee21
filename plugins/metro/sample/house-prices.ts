import { type Area, metroAreas, nationAndStates, seriesOfArea } from '../areas.js';
import type { MetroIndex } from '../import/fhfa.js';
import { quarterIndex, quarterStart } from '../periods.js';
import type { SampleSeries } from './macro.js';
import { randomFrom } from './random.js';

// biome-ignore format: codes in lines of ten
const CODES = [
  '12060', '12420', '12580', '14260', '14460', '16740', '16980', '17410', '18140', '19100',
  '19740', '19820', '26420', '26900', '28140', '29820', '31080', '33100', '33340', '33460',
  '34980', '35620', '36740', '37980', '38060', '38300', '38900', '39300', '39580', '40140',
  '41180', '41620', '41700', '41740', '41860', '41980', '42660', '45300', '46520', '47900',
];

const SAMPLE_METROS: readonly Area[] = CODES.map((cbsa) => metroAreas.get(cbsa) as Area);

export const FIRST_QUARTER = quarterIndex(1996, 3);
export const LAST_QUARTER = quarterIndex(2026, 2);
const LENGTH = LAST_QUARTER - FIRST_QUARTER + 1;

interface Shape {
  /** Number of quarters with values, counted back from the newest quarter. Default: all. */
  readonly last?: number;
  readonly end?: number;
  readonly gaps?: readonly number[];
}

const SHAPES: Readonly<Record<string, Shape>> = {
  // No quarter has a value, so all figures of this market are null.
  '41980': { last: 0 },
  // 3 quarters are too few for a 12-month change.
  '46520': { last: 3 },
  // 12 quarters are enough for a 12-month change, but not for a forecast.
  '14260': { last: 12 },
  // The index ended in 2023, so the market has past forecasts but none in the newest run.
  '38300': { end: quarterIndex(2023, 4) },
  // The value one year before the newest is missing, so the market has a forecast but no 12-month change.
  '41620': { gaps: [quarterIndex(2025, 2)] },
  // Forecasts for the missing quarters never have a realized value.
  '33340': { gaps: [quarterIndex(2024, 1), quarterIndex(2024, 2)] },
  '39300': { gaps: [quarterIndex(2003, 4), quarterIndex(2011, 1), quarterIndex(2011, 2), quarterIndex(2011, 3)] },
};

const momentum = (seed: string, persistence: number, volatility: number): number[] => {
  const random = randomFrom(seed);
  let value = 0;
  return Array.from({ length: LENGTH }, () => {
    value = persistence * value + volatility * random.normal();
    return value;
  });
};

const nationalMomentum = () => momentum('nation 3', 0.9, 0.35);
const momentumOf = (state: string) => momentum(`state ${state}`, 0.9, 0.4);

const TREND = 0.75;

/**
 * In 1996Q3, the index is 100. Its growth is the sum of a trend and the momentum of the nation, the state and the
 * market. Each level also has noise.
 */
export const sampleHousePrices = (): MetroIndex[] => {
  const nation = nationalMomentum();
  const states = new Map<string, number[]>();
  return SAMPLE_METROS.map(({ cbsa, name, states: [state = ''] }) => {
    if (!states.has(state)) states.set(state, momentumOf(state));
    const regional = states.get(state)!;
    const own = momentum(`market ${cbsa}`, 0.85, 0.35);
    const random = randomFrom(`level ${cbsa}`);
    const trend = TREND + 0.4 * (random.uniform() - 0.5);
    const { last = LENGTH, end = LAST_QUARTER, gaps = [] } = SHAPES[cbsa] ?? {};

    let log = 0;
    const quarters: number[] = [];
    const values: number[] = [];
    for (let i = 0; i < LENGTH; i++) {
      const quarter = FIRST_QUARTER + i;
      if (i > 0) log += trend + nation[i]! + regional[i]! + own[i]!;
      const level = 100 * Math.exp((log + 0.4 * random.normal()) / 100);
      if (i < LENGTH - last || quarter > end || gaps.includes(quarter)) continue;
      quarters.push(quarter);
      values.push(Math.round(level * 100) / 100);
    }
    return { cbsa, name, quarters, values };
  });
};

export const sampleWideIndexes = (): SampleSeries[] => {
  const nation = nationalMomentum();
  const isSampled = ({ kind, states: [state] }: Area) =>
    kind === 'nation' || SAMPLE_METROS.filter((metro) => metro.states[0] === state).length > 1;
  return [...nationAndStates.values()].filter(isSampled).map(({ cbsa, name, states: [state] }) => {
    const regional = state === undefined ? undefined : momentumOf(state);
    let log = 0;
    return {
      id: seriesOfArea(cbsa) as string,
      title: `House Price Index for ${state === undefined ? 'the ' : ''}${name}`,
      units: 'Index 1996Q3=100',
      seasonal_adjustment: 'NSA',
      cadence: 'quarterly',
      days: nation.map((_, i) => quarterStart(FIRST_QUARTER + i)),
      values: nation.map((growth, i) => {
        if (i > 0) log += TREND + growth + (regional?.[i] ?? 0);
        return Math.round(10_000 * Math.exp(log / 100)) / 100;
      }),
    };
  });
};
