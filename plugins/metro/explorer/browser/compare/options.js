import { list, number, percent, points, quarter } from '../../../../../core/pages/shared/format.js';
import { nationOf } from '../index-data.js';
import {
  commonStart,
  gapsText,
  quartersBetween,
  rebased,
  withoutPrices,
  yearlyChange,
  yearlyDifference,
} from '../market-figures.js';
import { recessions } from '../recessions.js';

/** @import { ChartOptions } from '../../../../../core/pages/data-views/drawing.js' */
/** @import { Choices, Member } from './members.js' */

/** @param {ReadonlyMap<string, number>} changes @param {ReadonlyMap<string, number>} others */
const differences = (changes, others) =>
  new Map(
    [...changes].flatMap(([date, value]) => {
      const other = others.get(date);
      return other === undefined ? [] : [[date, value - other]];
    }),
  );

/**
 * @typedef {Member & { base?: string | undefined, gaps?: string[] }} Line `base`: base month of real values; `gaps`:
 *   quarters without a real value
 */

/**
 * @param {Member} member @param {Choices} chosen @param {{ changes: ReadonlyMap<string, number> } | undefined} nation
 * @returns {Promise<Line>}
 */
const lineOf = async (member, { show, from, real }, nation) => {
  // The difference from the nation is the same in nominal and in real terms, so `real` has no effect.
  if (nation) return { ...member, values: differences(yearlyChange(member.values), nation.changes) };
  const { values, base } = (real && (await member.real?.())) || { values: member.values, base: undefined };
  const changes = member.rates ? yearlyDifference : yearlyChange;
  const gaps = base ? withoutPrices(member.values, values, `${from}-01-01`) : [];
  return { ...member, base, gaps, values: show === 'rebased' ? values : changes(values) };
};

/**
 * Scales the lines to 100 at the first quarter for which all of them have a value, so that they can be compared.
 * @param {readonly Line[]} lines @param {string} from
 * @returns {{ lines: readonly Line[], unit: string }}
 */
const rebasedLines = (lines, from) => {
  const all = lines.map(({ values }) => values);
  const start = commonStart(all, from);
  if (start === undefined)
    return { lines: lines.map((line) => ({ ...line, values: new Map() })), unit: 'No common quarter' };
  const isLater = all.some((values) => [...values.keys()].some((date) => date >= from && date < start));
  return {
    lines: lines.map((line) => ({ ...line, values: rebased(line.values, start) })),
    unit: `${quarter(start)} = 100${isLater ? ' (the first quarter with values for all lines)' : ''}`,
  };
};

/** @param {readonly Line[]} lines @param {Choices} chosen */
const termsOf = (lines, { show, real }) => {
  if (!real || show === 'nation' || lines.length === 0) return '';
  const [base] = lines.flatMap((line) => line.base ?? []);
  if (!base) return ', not adjusted for consumer prices, because none of the lines supports real terms';
  const nominal = lines.filter((line) => !line.base).map(({ short }) => short);
  const others = nominal.length > 0 ? ` (${nominal.join(', ')} as published)` : '';
  return `, adjusted for consumer prices, in prices of ${base.slice(0, 7)}${others}${gapsText(lines.flatMap(({ gaps = [] }) => gaps))}`;
};

/** @param {readonly Line[]} lines */
const changeUnit = (lines) => {
  const rates = lines.filter((line) => line.rates);
  if (rates.length === lines.length && rates.length > 0) return 'Percentage points over four quarters';
  const others = rates.length > 0 ? `; ${list(rates.map(({ short }) => short))} in percentage points` : '';
  return `Percent over four quarters${others}`;
};

const VALUE_TEXTS = {
  rebased: (/** @type {number} */ value) => number(value, 1),
  change: percent,
  nation: points,
};

/**
 * @param {readonly Member[]} members @param {Choices} chosen @param {AbortSignal} signal
 * @returns {Promise<{ options: ChartOptions, nationSource: string | undefined, realLabels: ReadonlySet<string> }>}
 *   `nationSource`: series of the nation, undefined if the nation is not shown; `realLabels`: labels of the lines in real
 *   terms
 */
export const optionsOf = async (members, chosen, signal) => {
  const { show, from } = chosen;
  const nation = show === 'nation' ? await nationOf(signal) : undefined;
  // A change in a rate is in percentage points, so it cannot be compared with a change in the nation’s index.
  const comparable = members.filter(({ rates }) => !nation || !rates);
  const excluded = members.filter((member) => !comparable.includes(member)).map(({ short }) => short);
  const loaded = await Promise.all(comparable.map((member) => lineOf(member, chosen, nation)));
  const based = show === 'rebased' ? rebasedLines(loaded, `${from}-01-01`) : undefined;
  const lines = based?.lines ?? loaded;
  const known = lines.flatMap(({ values }) => [...values.keys()]).sort();
  const last = `${known.at(-1)}`;
  const dates = known.length > 0 ? quartersBetween(`${known[0]}`, last) : [];
  const first = dates.find((date) => date >= `${from}-01-01`);
  const adjusted = termsOf(lines, chosen);
  const unit = {
    rebased: `${based?.unit}${adjusted}`,
    change: `${changeUnit(lines)}${adjusted}`,
    nation: `Percentage points above or below: ${nation?.label}${excluded.length > 0 ? `; not possible for rates (${list(excluded)})` : ''}`,
  }[show];
  /** @type {ChartOptions} */
  const options = {
    label: `${lines.map(({ short }) => short).join(', ')}: ${unit}.`,
    unit,
    dates,
    ...(first === undefined ? {} : { from: first }),
    lines: lines.map(({ label, short, values, rates }, index) => ({
      label,
      short,
      ...(rates && show === 'change' ? { text: points } : {}),
      color: `line-${index + 1}`,
      values: dates.map((date) => values.get(date) ?? null),
    })),
    shades: recessions,
    dateText: quarter,
    valueText: VALUE_TEXTS[show],
  };
  const realLabels = new Set(lines.filter(({ base }) => base).map(({ label }) => label));
  return { options, nationSource: nation?.source, realLabels };
};
