/** The colours of the map are safe for colour-blind users, and match the badges and charts. */
import { paint, svg } from '../../../../../core/pages/data-views/svg.js';
import { exact } from '../../../../../core/pages/shared/format.js';

/** @typedef {'forecast' | 'grade' | 'signal' | 'last'} Measure */
/** @typedef {{ color: string, label: string }} Step */

/** Class widths in percent. The map uses the smallest width for which there are enough colours. */
const WIDTHS = [0.5, 1, 2, 5, 10, 20, 50, 100];
const [FALLS, RISES] = [5, 7];

const GRADES = new Map([...'ABCDF'].map((grade, index) => [grade, `grade-${index + 1}`]));
const SIGNALS = new Map([
  ['contract', 'fall-3'],
  ['hold', 'even'],
  ['expand', 'rise-5'],
]);
/** The class of areas without a value. */
export const NONE = 'none';

/** The class of markets that the filters exclude. */
export const UNSELECTED = { color: 'unselected', label: 'not selected' };

/** @param {ReadonlyMap<string, string>} colors */
const named = (colors) => ({
  colorOf: (/** @type {string | number | null} */ value) => colors.get(String(value)) ?? NONE,
  steps: [...colors].map(([label, color]) => ({ color, label })),
});

/**
 * Classes of equal width on both sides of zero. The first and last classes are open-ended.
 * @param {readonly number[]} values
 */
const changes = (values) => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const width = WIDTHS.find((one) => -least <= one * FALLS && most <= one * RISES) ?? WIDTHS.at(-1) ?? 1;
  const classOf = (/** @type {number} */ value) => Math.min(Math.max(Math.floor(value / width), -FALLS), RISES - 1);
  const colorOf = (/** @type {number} */ index) => (index < 0 ? `fall-${-index}` : `rise-${index + 1}`);
  const [first, last] = values.length > 0 ? [classOf(least), classOf(most)] : [0, -1];
  const labelOf = (/** @type {number} */ index) => {
    const [low, high] = [exact(index * width), exact((index + 1) * width)];
    if (first === last) return `${low} to ${high}%`;
    return index === first ? `≤ ${high}%` : index === last ? `≥ ${low}%` : `${low} to ${high}%`;
  };
  return {
    colorOf: (/** @type {string | number | null} */ value) =>
      typeof value === 'number' ? colorOf(classOf(value)) : NONE,
    steps: Array.from({ length: last - first + 1 }, (_, at) => ({
      color: colorOf(first + at),
      label: labelOf(first + at),
    })),
  };
};

/** @param {Measure} measure @param {readonly (string | number | null)[]} values */
export const scaleOf = (measure, values) => {
  const { colorOf, steps } =
    measure === 'grade'
      ? named(GRADES)
      : measure === 'signal'
        ? named(SIGNALS)
        : changes(values.filter((value) => typeof value === 'number'));
  const none = measure === 'last' ? 'no index' : 'no index or forecast';
  return { colorOf, steps: /** @type {Step[]} */ ([...steps, { color: NONE, label: none }]) };
};

/** @type {Readonly<Record<string, (size: number) => SVGElement[]>>} */
const PATTERNS = {
  [NONE]: (size) => [
    svg('rect', { width: size, height: size, fill: paint(NONE) }),
    svg('circle', { cx: size / 2, cy: size / 2, r: size / 4, fill: paint('dots') }),
  ],
  [UNSELECTED.color]: (size) => [
    svg('rect', { width: size, height: size, fill: paint('raised') }),
    svg('rect', { width: size / 3, height: size, fill: paint('hatch') }),
  ],
};

let drawings = 0;

/**
 * Classes without a value have patterns instead of colours. Returns the fill of each class, and the definitions of the
 * patterns, which the drawing must contain.
 * @param {number} size distance between the lines or dots of a pattern
 */
export const fillsOf = (size) => {
  drawings += 1;
  const drawing = drawings;
  const id = (/** @type {string} */ name) => `fill-${name}-${drawing}`;
  const patterns = Object.entries(PATTERNS).map(([name, draw]) =>
    svg('pattern', { id: id(name), width: size, height: size, patternUnits: 'userSpaceOnUse' }, ...draw(size)),
  );
  const definitions = svg('defs', {}, ...patterns);
  scalePatterns(definitions, 1);
  return {
    fill: (/** @type {string} */ color) => (color in PATTERNS ? `url(#${id(color)})` : paint(color)),
    definitions,
  };
};

/** The lines and dots of patterns keep their distance if the drawing is zoomed. @param {SVGElement} definitions @param {number} scale */
export const scalePatterns = (definitions, scale) => {
  for (const pattern of definitions.children) pattern.setAttribute('patternTransform', `rotate(45) scale(${scale})`);
};

/** @param {Step} step */
export const swatchOf = ({ color }) => {
  const { fill, definitions } = fillsOf(4);
  return svg(
    'svg',
    { width: 16, height: 12, viewBox: '0 0 16 12', 'aria-hidden': 'true' },
    ...(color in PATTERNS ? [definitions] : []),
    svg('rect', { x: 0.5, y: 0.5, width: 15, height: 11, fill: fill(color), stroke: paint('control') }),
  );
};
