import type { PanelMarket } from '../panel.js';

const SEASONAL_QUARTERS = 20;
const SEASONS = 4;
/** Number of recent quarters over which the noise of an index is measured. */
const NOISE_QUARTERS = 8;
/** The noise of a market is shrunk towards the mean over all markets, which counts as this number of quarters. */
const NOISE_PRIOR = 4;
/** At a distance of 100 km, the weight of a neighbour is 1/e. */
const NEIGHBOUR_KM = 100;
/** Weight of the national mean, relative to the weights of the neighbours. */
const NATION_WEIGHT = 0.05;
const EARTH_RADIUS_KM = 6371.0088;

interface RegionalGrowth {
  /** Precision of each index: 1 without noise, and lower with more noise. `NaN` if the growth is unknown. */
  readonly precision: Float64Array;
  /** Seasonally adjusted log growth in the region around each market over the last quarter, in percent. */
  readonly neighbours: Float64Array;
}

const radians = (degrees: number): number => (degrees * Math.PI) / 180;

type Point = NonNullable<PanelMarket['centre']>;

export const distanceKm = (a: Point, b: Point): number => {
  const [latitudeA, latitudeB] = [radians(a.latitude), radians(b.latitude)];
  const chord =
    Math.sin((latitudeB - latitudeA) / 2) ** 2 +
    Math.cos(latitudeA) * Math.cos(latitudeB) * Math.sin(radians(b.longitude - a.longitude) / 2) ** 2;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(chord)));
};

/** Returns the matrix exp(-km / 100) of all pairs of markets. The diagonal is 0. */
const nearness = (markets: readonly PanelMarket[]): Float64Array => {
  const near = new Float64Array(markets.length ** 2);
  for (const [i, { centre: here }] of markets.entries()) {
    for (const [j, { centre: there }] of markets.entries()) {
      if (i === j || !here || !there) continue;
      near[i * markets.length + j] = Math.exp(-distanceKm(here, there) / NEIGHBOUR_KM);
    }
  }
  return near;
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Computes regional growth quarter by quarter, using only data up to each quarter. g(i, t) is the log growth of market
 * i over quarter t in percent; `NaN` if unknown.
 *
 * - Season: m(t) is the unweighted mean of g over the markets. The seasonal effect is f(t) = mean(m(t), m(t-4), ...,
 *   m(t-16)) - mean(m(t), ..., m(t-19)), and the adjusted growth is u(i, t) = g(i, t) - f(t).
 * - Precision: w = 1 / (1 + r). The noise r is the mean of d(i, t) = |u(i, t) - u(i, t-1)| over t-7, ..., t and of 4
 *   additional values, each equal to the pooled mean of d over the same quarters (0 until d is known for any market).
 * - Neighbours: v(i, t) = (sum of K w u over the other markets + 0.05 M) / (sum of K w + 0.05). K = exp(-km / 100), by
 *   great-circle distance. M is the w-weighted mean of u over all markets. For a market without a centre, v is M.
 */
export const createRegionalGrowth = (markets: readonly PanelMarket[]) => {
  const near = nearness(markets);
  const means: number[] = [];
  /** Absolute quarterly changes in adjusted growth (d), oldest quarter first. */
  const noise: Float64Array[] = [];
  let before = new Float64Array(markets.length).fill(Number.NaN);

  const season = (): number => {
    const window = means.slice(-SEASONAL_QUARTERS);
    if (window.length < SEASONAL_QUARTERS) return Number.NaN;
    const same = window.filter((_, index) => (window.length - 1 - index) % SEASONS === 0);
    return mean(same) - mean(window);
  };

  const precisionOf = (adjusted: Float64Array): Float64Array => {
    noise.push(adjusted.map((value, market) => Math.abs(value - before[market]!)));
    if (noise.length > NOISE_QUARTERS) noise.shift();
    const sums = new Float64Array(markets.length);
    const counts = new Int32Array(markets.length);
    let pooledSum = 0;
    let pooledCount = 0;
    for (const quarter of noise) {
      for (const [market, change] of quarter.entries()) {
        if (Number.isNaN(change)) continue;
        sums[market]! += change;
        counts[market]! += 1;
        pooledSum += change;
        pooledCount++;
      }
    }
    const pooled = pooledCount === 0 ? 0 : pooledSum / pooledCount;
    return adjusted.map((value, market) => {
      const noisiness = (sums[market]! + NOISE_PRIOR * pooled) / (counts[market]! + NOISE_PRIOR);
      return Number.isNaN(value) ? Number.NaN : 1 / (1 + noisiness);
    });
  };

  const neighboursOf = (adjusted: Float64Array, precision: Float64Array): Float64Array => {
    const there = [...adjusted.keys()].filter((market) => !Number.isNaN(adjusted[market]));
    let sum = 0;
    let weight = 0;
    for (const market of there) {
      sum += precision[market]! * adjusted[market]!;
      weight += precision[market]!;
    }
    const nation = sum / weight;
    return adjusted.map((_, market) => {
      let growth = NATION_WEIGHT * nation;
      let total = NATION_WEIGHT;
      for (const other of there) {
        const share = near[market * markets.length + other]! * precision[other]!;
        growth += share * adjusted[other]!;
        total += share;
      }
      return growth / total;
    });
  };

  return {
    next(growth: Float64Array): RegionalGrowth {
      means.push(mean([...growth].filter((value) => !Number.isNaN(value))));
      const fixed = season();
      const adjusted = growth.map((value) => value - fixed);
      const precision = precisionOf(adjusted);
      before = adjusted;
      return { precision, neighbours: neighboursOf(adjusted, precision) };
    },
  };
};
