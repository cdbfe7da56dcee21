import { expect } from 'chai';
import { metroMomentum } from '../../../../../plugins/metro/forecast/models/metro-momentum.js';
import { distanceKm } from '../../../../../plugins/metro/forecast/models/regional-growth.js';
import type { Panel } from '../../../../../plugins/metro/forecast/panel.js';
import { walk } from '../../../../../plugins/metro/forecast/walk.js';
import { quarterStart } from '../../../../../plugins/metro/periods.js';
import { cut, madeUpMetroPanel } from '../panels.js';

const options = { minValues: 20 };
const at = <T>(list: readonly T[] | Float64Array, index: number) => list[index] as T;
const there = (value: number | undefined): value is number => value !== undefined && Number.isFinite(value);
const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const meanOf = (values: readonly number[]) => sumOf(values) / values.length;

const solved = (matrix: number[][], right: readonly number[]): number[] => {
  const system = matrix.map((line, i) => [...line, at(right, i)]);
  for (const [i, pivot] of system.entries()) {
    for (const [k, line] of system.entries()) {
      if (k === i) continue;
      const factor = at(line, i) / at(pivot, i);
      for (let j = 0; j < line.length; j++) line[j] = at(line, j) - factor * at(pivot, j);
    }
  }
  return system.map((line, i) => at(line, right.length) / at(line, i));
};

const byDefinition = (panel: Panel) => {
  const all = [...panel.markets.keys()];
  const L = panel.quarters.map((quarter) => [...quarter].map((level) => 100 * Math.log(level)));
  const F = (i: number, t: number): number => {
    const known = (s: number) => there(L[s]?.[i]);
    if (t < 0 || known(t)) return L[t]?.[i] ?? Number.NaN;
    const before = [...Array(t).keys()].reverse().find(known);
    const after = L.findIndex((_, s) => s > t && known(s));
    if (before === undefined || after === -1) return Number.NaN;
    const share = (t - before) / (after - before);
    return at(at(L, before), i) * (1 - share) + at(at(L, after), i) * share;
  };
  const g = (k: number, i: number, t: number) => at(at(L, t), i) - F(i, t - k);
  const n = (i: number, t: number) => L.slice(0, t + 1).filter((quarter) => there(quarter[i])).length;
  const m = L.map((_, t) => meanOf(all.map((i) => g(1, i, t)).filter(there)));
  const f = m.map((_, t) =>
    t < 20 ? Number.NaN : meanOf([0, 4, 8, 12, 16].map((lag) => at(m, t - lag))) - meanOf(m.slice(t - 19, t + 1)),
  );
  const u = L.map((_, t) => all.map((i) => g(1, i, t) - at(f, t)));
  const d = (i: number, t: number) => Math.abs((u[t]?.[i] ?? Number.NaN) - (u[t - 1]?.[i] ?? Number.NaN));
  const window = (t: number) => [...Array(8).keys()].map((lag) => t - lag);
  const w = L.map((_, t) => {
    const pooled = all.flatMap((i) => window(t).map((s) => d(i, s))).filter(there);
    const dbar = pooled.length === 0 ? 0 : meanOf(pooled);
    return all.map((i) => {
      const own = window(t)
        .map((s) => d(i, s))
        .filter(there);
      return 1 / (1 + (sumOf(own) + 4 * dbar) / (own.length + 4));
    });
  });
  const K = (i: number, j: number) => {
    const [here, other] = [at(panel.markets, i).centre, at(panel.markets, j).centre];
    return here && other && i !== j ? Math.exp(-distanceKm(here, other) / 100) : 0;
  };
  const v = (i: number, t: number) => {
    const seen = all.filter((j) => there(at(u, t)[j]));
    const weight = (j: number) => at(at(w, t), j);
    const nation = sumOf(seen.map((j) => weight(j) * at(at(u, t), j))) / sumOf(seen.map(weight));
    return (
      (sumOf(seen.map((j) => K(i, j) * weight(j) * at(at(u, t), j))) + 0.05 * nation) /
      (sumOf(seen.map((j) => K(i, j) * weight(j))) + 0.05)
    );
  };
  const sales = (t: number, lag: number) => {
    const end = quarterStart(panel.firstQuarter + t + 1);
    const months = (panel.macro.get('HSN1F') ?? []).filter(({ start }) => start < end);
    const number = (day: string) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
    const newest = number(months.at(-1)?.start ?? '');
    if (newest - lag - 23 < number(months[0]?.start ?? '')) return Number.NaN;
    const terms = months.flatMap(({ start, value }) => {
      const k = newest - lag - number(start);
      return k >= 0 && k < 24 ? [{ weight: (k + 1) * 0.75 ** k, log: Math.log(value) }] : [];
    });
    return sumOf(terms.map(({ weight, log }) => weight * log)) / sumOf(terms.map(({ weight }) => weight));
  };
  const h = (k: number, t: number) => {
    const growth = 100 * (sales(t, 0) - sales(t, 3 * k));
    return there(growth) ? growth : 0;
  };
  const x = (i: number, t: number): number[] => {
    const G = there(g(20, i, t)) ? g(20, i, t) : 0;
    return [1, g(4, i, t), v(i, t), G, h(2, t), (h(2, t) * G) / 20, h(4, t), (h(4, t) * G) / 20];
  };
  const rows = L.flatMap((_, t) =>
    all.flatMap((i) => {
      const y = (L[t + 4]?.[i] ?? Number.NaN) - at(at(L, t), i);
      const row = { t, x: x(i, t), y, w: at(at(w, t), i) };
      return n(i, t) >= 20 && [...row.x, row.w].every(there) ? [row] : [];
    }),
  );
  return (t: number): { forecasts: (number | undefined)[]; b: number[] } | undefined => {
    const fit = rows.filter((row) => row.t <= t - 4 && there(row.y));
    if (fit.length === 0) return undefined;
    const total = sumOf(fit.map((row) => row.w));
    const quarters = new Set(fit.map((row) => row.t)).size;
    const penalty = (k: number) => {
      if (k < 4) return 0;
      const mean = sumOf(fit.map((row) => row.w * at(row.x, k))) / total;
      const variance = sumOf(fit.map((row) => row.w * (at(row.x, k) - mean) ** 2)) / total;
      return (40 * variance * total) / quarters;
    };
    const places = [...Array(8).keys()];
    const b = solved(
      places.map((k) =>
        places.map(
          (l) => sumOf(fit.map((row) => row.w * at(row.x, k) * at(row.x, l))) + (k === l ? penalty(k) + 1e-9 : 0),
        ),
      ),
      places.map((k) => sumOf(fit.map((row) => row.w * at(row.x, k) * row.y))),
    );
    const forecasts = all.map((i) => {
      const row = x(i, t);
      return n(i, t) >= 20 && row.every(there) ? sumOf(row.map((value, k) => value * at(b, k))) : undefined;
    });
    return { forecasts, b };
  };
};

const halfWidths = (panel: Panel, forecasts: readonly (readonly (number | undefined)[] | undefined)[], t: number) => {
  const all = [...panel.markets.keys()];
  const L = panel.quarters.map((quarter) => [...quarter].map((level) => 100 * Math.log(level)));
  const gapless = (i: number, s: number): number => {
    if (there(L[s]?.[i])) return at(at(L, s), i);
    const before = [...Array(Math.max(s, 0)).keys()].reverse().find((k) => there(L[k]?.[i]));
    const after = L.findIndex((_, k) => k > s && there(L[k]?.[i]));
    if (before === undefined || after === -1) return Number.NaN;
    return at(at(L, before), i) + ((at(at(L, after), i) - at(at(L, before), i)) * (s - before)) / (after - before);
  };
  const e = (i: number, s: number) =>
    Math.abs((L[s + 4]?.[i] ?? Number.NaN) - at(at(L, s), i) - (forecasts[s]?.[i] ?? Number.NaN));
  const realised = (now: number) => [...Array(Math.max(0, now - 3)).keys()];
  const regressors = (i: number, now: number): number[] => {
    const known = (j: number) =>
      realised(now).flatMap((s) => (there(e(j, s)) ? [{ e: e(j, s), p: 0.95 ** (now - 4 - s) }] : []));
    const pooled = all.flatMap(known);
    const ebar = sumOf(pooled.map((one) => one.p * one.e)) / sumOf(pooled.map((one) => one.p));
    const own = known(i);
    const growth = at(at(L, now), i) - gapless(i, now - 4);
    return [
      1,
      (sumOf(own.map((one) => one.p * one.e)) + 8 * ebar) / (sumOf(own.map((one) => one.p)) + 8),
      Math.abs(growth),
      Math.abs((forecasts[now]?.[i] ?? Number.NaN) - growth),
    ];
  };
  const past = realised(t).flatMap((s) =>
    all.flatMap((i) => {
      const row = { s, i, x: regressors(i, s), e: e(i, s) };
      return there(row.e) && row.x.every(there) ? [row] : [];
    }),
  );
  const places = [0, 1, 2, 3];
  const gamma = solved(
    places.map((k) => places.map((l) => sumOf(past.map((row) => at(row.x, k) * at(row.x, l))))),
    places.map((k) => sumOf(past.map((row) => at(row.x, k) * row.e))),
  );
  const raw = (i: number, s: number) => sumOf(regressors(i, s).map((value, k) => value * at(gamma, k)));
  const S = (i: number, s: number) => {
    const least = 0.25 * meanOf(all.map((j) => raw(j, s)).filter(there));
    return Math.max(raw(i, s), least);
  };
  const ratios = past.map((row) => ({ ratio: row.e / S(row.i, row.s), p: 0.9 ** (t - 4 - row.s) }));
  ratios.sort((a, b) => a.ratio - b.ratio);
  const total = sumOf(ratios.map(({ p }) => p));
  let below = 0;
  const q = ratios.find(({ p }) => {
    below += p;
    return below >= 0.8 * total;
  })?.ratio;
  return all.map((i) => (q ?? Number.NaN) * S(i, t));
};

describe('metro-momentum', () => {
  const panel = madeUpMetroPanel();
  const origins = [...walk(metroMomentum, panel, options)];
  const expected = byDefinition(panel);
  const toPercent = (growth: number) => 100 * Math.expm1(growth / 100);

  // Earlier quarters have fewer rows than coefficients, so some coefficients are undetermined.
  for (const origin of [30, 40, 41, 43, 44, 60, 90, 99]) {
    it(`matches the formula in its docstring at quarter ${origin}`, () => {
      const { forecasts, b } = expected(origin) as NonNullable<ReturnType<typeof expected>>;
      const { point, coefficients } = at(origins, origin);
      for (const [k, value] of Object.values(coefficients ?? {}).entries()) expect(value).to.be.closeTo(at(b, k), 1e-6);
      for (const [market, value] of forecasts.entries()) {
        if (value === undefined) expect(point[market], `market ${market}`).to.be.NaN;
        else expect(point[market], `market ${market}`).to.be.closeTo(toPercent(value), 1e-6);
      }
    });
  }

  for (const origin of [44, 62, 99]) {
    it(`matches the formula for its bounds at quarter ${origin}`, () => {
      const forecasts = origins.map(({ point }) =>
        [...point].map((value) => (there(value) ? 100 * Math.log1p(value / 100) : undefined)),
      );
      const half = halfWidths(panel, forecasts, origin);
      const { lower, upper } = at(origins, origin);
      for (const [market, value] of (forecasts[origin] ?? []).entries()) {
        if (value === undefined) expect(lower[market], `market ${market}`).to.be.NaN;
        else {
          expect(lower[market], `market ${market}`).to.be.closeTo(toPercent(value - at(half, market)), 1e-5);
          expect(upper[market], `market ${market}`).to.be.closeTo(toPercent(value + at(half, market)), 1e-5);
        }
      }
    });
  }

  it('forecasts once a 20-quarter season has an outcome, with bounds 20 quarters later', () => {
    const first = (of: 'point' | 'lower') => origins.findIndex((origin) => origin[of].some((value) => there(value)));
    // Growth is defined from quarter 1, seasonality from quarter 20. Outcomes are known four quarters later.
    expect([first('point'), first('lower')]).to.deep.equal([24, 44]);
  });

  it('makes no forecast for a market at a quarter without a value', () => {
    const forecast = (origin: number) => there(at(origins, origin).point[3]);
    expect([39, 40, 41, 42, 43].map(forecast)).to.deep.equal([true, false, false, false, true]);
  });

  it('makes exactly the same forecasts from data that is cut at the origin, including national series', () => {
    for (const quarters of [50, 75, 76, 91, 99]) {
      const known = [...walk(metroMomentum, cut(panel, quarters), options)];
      expect(known).to.deep.equal(origins.slice(0, quarters));
    }
  });

  it('treats unknown sales as unchanged, and measures growth from the newest month', () => {
    const without = [...walk(metroMomentum, { ...panel, macro: new Map() }, options)];
    expect(at(without, 99).coefficients).to.include({ new_home_sales_2q: 0, new_home_sales_4q_x_growth_20q: 0 });
    const sales = panel.macro.get('HSN1F') ?? [];
    const late = { ...panel, macro: new Map([['HSN1F', sales.filter(({ start }) => start < '2013-10-01')]]) };
    const point = at([...walk(metroMomentum, late, options)], 95).point[0] as number;
    expect(at(origins, 95).point[0]).to.be.closeTo(point, 0.5).and.not.equal(point);
  });

  it('splits each point into contributions of its inputs that sum to it', () => {
    const { point, contributions = {} } = at(origins, 99);
    expect(Object.keys(contributions)).to.deep.equal([
      ...['intercept', 'growth_4q', 'neighbour_growth_1q', 'growth_20q', 'new_home_sales'],
    ]);
    for (const [market, value] of point.entries()) {
      const sum = sumOf(Object.values(contributions).map((values) => at(values, market)));
      expect(sum).to.be.closeTo(value, 1e-9);
    }
  });

  it('changes its points little when the newest month of sales is revised by 10%', () => {
    const sales = panel.macro.get('HSN1F') ?? [];
    const revised = sales.map((month, i) => (i === sales.length - 1 ? { ...month, value: 1.1 * month.value } : month));
    const after = at([...walk(metroMomentum, { ...panel, macro: new Map([['HSN1F', revised]]) }, options)], 99);
    const changes = [...after.point].map((value, market) =>
      Math.abs(value - (at(origins, 99).point[market] as number)),
    );
    expect(meanOf(changes)).to.be.within(1e-6, 0.4);
  });
});

describe('distanceKm(a, b)', () => {
  it('is the great-circle distance: a quarter of the meridian, and from New York to Los Angeles', () => {
    expect(distanceKm({ latitude: 0, longitude: 0 }, { latitude: 90, longitude: 50 })).to.be.closeTo(10_007.6, 0.1);
    const km = distanceKm({ latitude: 40.7128, longitude: -74.006 }, { latitude: 34.0522, longitude: -118.2437 });
    expect(km).to.be.closeTo(3936, 2);
  });
});
