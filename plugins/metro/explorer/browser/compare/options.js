/** The chart of a comparison. */
import { number, percent, points, quarter } from '../../../../pages/shared/format.js';
import { nationOf, pricesOf } from '../index-data.js';
import { inRealTerms, quartersBetween, rebased, yearlyChange } from '../market-figures.js';

/**
 * @typedef {import('./members.js').Member} Member
 * @typedef {import('./members.js').Choices} Choices
 * @typedef {import('../../../../pages/data-views/drawing.js').ChartOptions} ChartOptions
 */

/** @param {ReadonlyMap<string, number>} changes @param {ReadonlyMap<string, number>} others */
const differences = (changes, others) =>
  new Map(
    [...changes].flatMap(([date, value]) => {
      const other = others.get(date);
      return other === undefined ? [] : [[date, value - other]];
    }),
  );

/** @param {Choices} chosen @param {AbortSignal} signal */
const loadOthers = async ({ show, real }, signal) => {
  const nation = show === 'nation' ? await nationOf(signal) : undefined;
  // Consumer prices cancel out in the difference to the nation.
  const prices = real && !nation ? await pricesOf(signal) : undefined;
  return { nation, prices };
};

/** @param {Member} member @param {Choices} chosen @param {Awaited<ReturnType<typeof loadOthers>>} others */
const valuesOf = ({ values, money }, { show, from }, { nation, prices }) => {
  const real = prices && money ? inRealTerms(values, prices).values : values;
  if (show === 'rebased') return rebased(real, `${from}-01-01`);
  return nation ? differences(yearlyChange(values), nation.changes) : yearlyChange(real);
};

const VALUE_TEXTS = {
  rebased: (/** @type {number} */ value) => number(value, 1),
  change: percent,
  nation: points,
};

/**
 * @param {readonly Member[]} members @param {Choices} chosen @param {ChartOptions['shades']} shades
 * @param {AbortSignal} signal
 * @returns {Promise<{ options: ChartOptions, nationSource: string | undefined }>} `nationSource`: the series of the
 *   nation, if it is shown
 */
export const optionsOf = async (members, chosen, shades, signal) => {
  const { show, from } = chosen;
  const others = await loadOthers(chosen, signal);
  const lines = members.map((member) => ({ ...member, values: valuesOf(member, chosen, others) }));
  const known = lines.flatMap(({ values }) => [...values.keys()]).sort();
  const last = `${known.at(-1)}`;
  const dates = known.length > 0 ? quartersBetween(`${known[0]}`, last) : [];
  const first = dates.find((date) => date >= `${from}-01-01`);
  // Consumer prices are published later than the index, so that real terms may end a quarter earlier.
  const adjusted = others.prices && known.length > 0 ? `, adjusted for consumer prices up to ${quarter(last)}` : '';
  const unit = {
    rebased: `${first ? quarter(first) : from} = 100${adjusted}`,
    change: `Percent over four quarters${adjusted}`,
    nation: `Percentage points above or below: ${others.nation?.label}`,
  }[show];
  /** @type {ChartOptions} */
  const options = {
    label: `${lines.map(({ short }) => short).join(', ')}: ${unit}.`,
    unit,
    dates,
    ...(first === undefined ? {} : { from: first }),
    lines: lines.map(({ label, short, values }, index) => ({
      label,
      short,
      color: `line-${index + 1}`,
      values: dates.map((date) => values.get(date) ?? null),
    })),
    ...(shades && { shades }),
    dateText: quarter,
    valueText: VALUE_TEXTS[show],
  };
  return { options, nationSource: others.nation?.source };
};
