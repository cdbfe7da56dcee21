/**
 * Defines the map's colours. Their classes have round limits, are the same for every run, and suit colour-blind
 * readers.
 */
import { paint, svg } from '../../../../pages/data-views/svg.js';

/** @typedef {'forecast' | 'grade' | 'signal' | 'last'} Measure */

/** The limits of the classes in percent, and the custom properties with their colours. */
const CHANGE = {
  limits: [-5, -2, 0, 2, 4, 5, 6, 8],
  colors: ['fall-3', 'fall-2', 'fall-1', 'rise-1', 'rise-2', 'rise-3', 'rise-4', 'rise-5', 'rise-6'],
};

const GRADES = new Map([...'ABCDF'].map((grade, index) => [grade, `grade-${index + 1}`]));
const SIGNALS = new Map([
  ['contract', 'fall-2'],
  ['hold', 'even'],
  ['expand', 'rise-4'],
]);
const NONE = { color: 'none', label: 'none' };

/** @param {ReadonlyMap<string, string>} colors */
const named = (colors) => ({
  colorOf: (/** @type {string | number | null} */ value) => colors.get(String(value)) ?? NONE.color,
  steps: [...[...colors].map(([label, color]) => ({ color, label })), NONE],
});

/**
 * @param {Measure} measure
 * @param {readonly (string | number | null)[]} values the legend has only classes within their range
 */
export const scaleOf = (measure, values) => {
  if (measure === 'grade') return named(GRADES);
  if (measure === 'signal') return named(SIGNALS);
  const { limits, colors } = CHANGE;
  const binOf = (/** @type {number} */ value) => limits.filter((limit) => value >= limit).length;
  const bins = values.filter((value) => typeof value === 'number').map(binOf);
  const [least, most] = [Math.min(...bins), Math.max(...bins)];
  const steps = colors.flatMap((color, bin) => {
    if (bin < least || bin > most) return [];
    const [low, high] = [limits[bin - 1], limits[bin]];
    const label = low === undefined ? `below ${high}%` : high === undefined ? `${low}% and more` : `${low} to ${high}%`;
    return [{ color, label }];
  });
  return {
    colorOf: (/** @type {string | number | null} */ value) =>
      typeof value === 'number' ? `${colors[binOf(value)]}` : NONE.color,
    steps: values.includes(null) ? [...steps, NONE] : steps,
  };
};

/** @param {string} color */
export const swatchOf = (color) =>
  svg(
    'svg',
    { width: 16, height: 12, viewBox: '0 0 16 12', 'aria-hidden': 'true' },
    svg('rect', { x: 0.5, y: 0.5, width: 15, height: 11, fill: paint(color), stroke: paint('control') }),
  );
