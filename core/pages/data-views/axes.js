/** @param {string} date @returns {number} in milliseconds since 1970 */
export const timeOf = (date) => Date.parse(`${date}T00:00:00Z`);

/** @param {number} low @param {number} high @param {number} count */
const roundTicks = (low, high, count) => {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999) ?? power * 10;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) {
    ticks.push(Number((n * step).toPrecision(12)));
  }
  return { ticks, digits };
};

/** Distances between value ticks in pixels, widest first. */
const STEPS = /** @type {const} */ ([48, 36, 27, 18]);
const LEAST_TICKS = 4;

/**
 * A step is 2 or 2.5 times the next smaller one, so a chart can have less than half of the ticks that fit. If it has
 * fewer than 4, the ticks are closer together.
 * @param {number} low @param {number} high @param {number} height of the plot, in pixels
 */
export const valueTicks = (low, high, height) => {
  let found = roundTicks(low, high, Math.floor(height / STEPS[0]));
  for (const step of STEPS.slice(1)) {
    if (found.ticks.length >= LEAST_TICKS) break;
    found = roundTicks(low, high, Math.floor(height / step));
  }
  return found;
};

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const LABEL_WIDTH = 62;

/** @typedef {{ date: string, text: string }} DateTick */

/** @param {number} first @param {number} last @param {number} room @returns {DateTick[]} */
const yearTicks = (first, last, room) => {
  const step = [1, 2, 5, 10, 20, 50].find((one) => (last - first) / one <= room) ?? 100;
  const ticks = [];
  for (let year = Math.ceil(first / step) * step; year <= last; year += step) {
    ticks.push({ date: `${year}-01-01`, text: String(year) });
  }
  return ticks;
};

/** @param {string} date @returns {number} */
const monthOf = (date) => Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7)) - 1;

/** @param {string} first @param {string} last @param {number} room @returns {DateTick[]} */
const monthTicks = (first, last, room) => {
  const [from, until] = [monthOf(first), monthOf(last)];
  const step = [1, 3, 6, 12].find((one) => (until - from) / one <= room) ?? 12;
  const ticks = [];
  for (let month = Math.ceil(from / step) * step; month <= until; month += step) {
    const [year, index] = [Math.floor(month / 12), month % 12];
    ticks.push({
      date: `${year}-${String(index + 1).padStart(2, '0')}-01`,
      text: index === 0 || ticks.length === 0 ? `${MONTHS[index]} ${year}` : `${MONTHS[index]}`,
    });
  }
  return ticks;
};

/** @param {string} first @param {string} last @param {number} width */
export const dateTicks = (first, last, width) => {
  const room = Math.max(2, Math.floor(width / LABEL_WIDTH));
  const [from, until] = [Number(first.slice(0, 4)), Number(last.slice(0, 4))];
  const ticks = until - from >= 3 ? yearTicks(from, until, room) : monthTicks(first, last, room);
  return ticks.filter(({ date }) => date >= first && date <= last);
};
