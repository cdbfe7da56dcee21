import { paint, svg } from './svg.js';

const [WIDTH, HEIGHT] = [150, 16];

/**
 * Screen readers skip the picture, because the table row contains the same values as text.
 * @param {...SVGElement} children
 */
const picture = (...children) =>
  svg('svg', { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' }, ...children);

/** @param {number} value @param {{ least?: number, most: number, color: string, mark?: number | null }} scale */
export const bar = (value, { least = 0, most, color, mark }) => {
  const x = (/** @type {number} */ at) => 2 + ((at - least) / (most - least || 1)) * (WIDTH - 4);
  const [from, to] = [Math.min(x(0), x(value)), Math.max(x(0), x(value))];
  return picture(
    svg('rect', { x: from, y: 3, width: Math.max(1, to - from), height: HEIGHT - 6, fill: paint(color) }),
    svg('line', { x1: x(0), x2: x(0), y1: 0, y2: HEIGHT, stroke: paint('muted') }),
    ...(typeof mark === 'number'
      ? [svg('line', { x1: x(mark), x2: x(mark), y1: 0, y2: HEIGHT, stroke: paint('text'), 'stroke-width': 3 })]
      : []),
  );
};

/** @param {number} age @param {number} late @param {number} stale */
export const ageLine = (age, late, stale) => {
  const most = Math.max(stale, age, 1) * 1.05;
  const x = (/** @type {number} */ at) => 2 + (at / most) * (WIDTH - 4);
  const color = age >= stale ? 'bad' : age >= late ? 'warn' : 'good';
  const limit = (/** @type {number} */ at, /** @type {string} */ name) =>
    svg('line', { x1: x(at), x2: x(at), y1: 1, y2: HEIGHT - 1, stroke: paint(name), 'stroke-width': 2 });
  return picture(
    svg('line', { x1: x(0), x2: x(most), y1: 8, y2: 8, stroke: paint('line'), 'stroke-width': 4 }),
    svg('line', { x1: x(0), x2: x(age), y1: 8, y2: 8, stroke: paint(color), 'stroke-width': 4 }),
    limit(late, 'warn'),
    limit(stale, 'bad'),
    svg('circle', { cx: x(age), cy: 8, r: 5, fill: paint(color) }),
  );
};
