/** A small line without axes, which shows the direction. */
import { lineOf } from '../../../../pages/data-views/drawing.js';
import { paint, svg } from '../../../../pages/data-views/svg.js';

const [WIDTH, HEIGHT] = [80, 22];

/** @param {readonly (number | null)[]} values one per period; null is a gap */
export const sparkLine = (values) => {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (/** @type {number} */ index) => 2 + (index / Math.max(1, values.length - 1)) * (WIDTH - 4);
  const y = (/** @type {number} */ value) => HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6);
  return svg(
    'svg',
    { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' },
    svg('path', { d: lineOf(values, x, y).path, fill: 'none', stroke: paint('accent'), 'stroke-width': 1.5 }),
  );
};
