/** Draws the bar chart of the front page. */
import type { Drawing, Label, Shape } from 'metro-forecast-api/plugin';

/** Small numbers keep `decimals + 1` significant digits. */
export const rounded = (value: number, decimals: number): string =>
  value
    .toLocaleString('en-US', {
      maximumFractionDigits: decimals,
      maximumSignificantDigits: decimals + 1,
      roundingPriority: 'morePrecision',
    })
    .replace('-', '−');

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [960, 360, 90, 34, 14];

/** Returns 1, 2 or 5 times a power of ten, so that the axis has about four lines. */
const stepOf = (range: number): number => {
  const power = 10 ** Math.floor(Math.log10(range / 4));
  return power * ([1, 2, 5].find((factor) => factor * power * 5 >= range) ?? 10);
};

/** @param values periods such as `2024-05`, in order, with their values */
export const drawBars = (values: readonly (readonly [period: string, value: number])[]): Drawing => {
  const numbers = values.map(([, value]) => value);
  const [low, high] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
  const step = stepOf(high - low || 1);
  const [floor, ceiling] = [Math.floor(low / step) * step, Math.ceil(high / step) * step || step];
  const y = (value: number) =>
    Number((TOP + ((ceiling - value) / (ceiling - floor)) * (HEIGHT - TOP - BOTTOM)).toFixed(1));
  const slot = (WIDTH - LEFT) / values.length;
  const lines = Array.from({ length: Math.round((ceiling - floor) / step) + 1 }, (_, i) => floor + i * step);
  const every = Math.ceil(values.length / 6);
  const bars = values.map(([period, value], i): Shape => {
    const x = (LEFT + (i + 0.1) * slot).toFixed(1);
    return {
      path: `M${x},${y(0)}V${y(value)}h${(slot * 0.8).toFixed(1)}V${y(0)}z`,
      fill: 'accent',
      title: `${period}: ${rounded(value, 2)}`,
    };
  });
  return {
    width: WIDTH,
    height: HEIGHT,
    textSize: 13,
    shapes: [
      ...lines.map(
        (value): Shape => ({
          path: `M${LEFT},${y(value)}H${WIDTH}`,
          stroke: value === 0 ? 'control' : 'line',
          width: 1,
        }),
      ),
      ...bars,
    ],
    labels: [
      ...lines.map((value): Label => ({ text: rounded(value, 6), x: LEFT - 8, y: y(value) + 4, anchor: 'end' })),
      ...values.flatMap(([period], i): Label[] =>
        i % every === 0 ? [{ text: period, x: LEFT + (i + 0.5) * slot, y: HEIGHT - 10, anchor: 'middle' }] : [],
      ),
    ],
  };
};
