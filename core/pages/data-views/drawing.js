import { dateTicks } from './axes.js';
import { BAR_SHARE, BAR_WIDTH, frameOf } from './frame.js';
import { FONT_FAMILY, FONT_SIZE, LINE_HEIGHT, paint, svg, textWidth } from './svg.js';

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} [short] label at the end of the line, shown on wide charts
 * @property {readonly (number | null)[]} values one per date; null is a gap
 * @property {string} color a custom property, without `--`
 * @property {boolean} [dashed]
 * @property {boolean} [bars] whether to draw bars instead of a line
 * @property {(value: number) => string} [text] formats a value of this line. Default: `valueText` of the chart
 *
 * @typedef {object} Band
 * @property {string} label
 * @property {readonly (number | null)[]} lower
 * @property {readonly (number | null)[]} upper
 *
 * @typedef {object} ChartOptions
 * @property {string} label one sentence about what the chart shows, for screen readers
 * @property {string} unit shown above the value axis
 * @property {readonly string[]} dates ascending, `YYYY-MM-DD`
 * @property {readonly Line[]} lines
 * @property {Band} [band]
 * @property {{ label: string, spans: readonly (readonly [from: string, to: string])[] }} [shades] shaded periods
 * @property {(date: string) => string} dateText
 * @property {(value: number) => string} valueText
 * @property {string | undefined} [from] earliest date to show
 * @property {boolean} [zero] whether the value axis includes zero. Charts with bars always include zero
 * @property {{ label: string, values: readonly (number | null)[], text: (value: number) => string }} [extra] values
 *   listed in the readout but not drawn
 *
 * @typedef {object} Drawing
 * @property {SVGSVGElement} svg
 * @property {readonly string[]} dates the dates shown
 * @property {number} first index in `ChartOptions.dates` of the first date shown
 * @property {(date: string) => number} x
 * @property {(value: number) => number} y
 * @property {{ left: number, right: number, top: number, bottom: number }} plot the area inside the axes
 *
 * @typedef {ReturnType<typeof frameOf>} Frame
 */

/**
 * @param {readonly (number | null)[]} values @param {(index: number) => number} x @param {(value: number) => number} y
 */
export const lineOf = (values, x, y) => {
  let path = '';
  /** @type {[number, number][]} */
  const dots = [];
  values.forEach((value, index) => {
    if (value === null) return;
    const [before, after] = [values[index - 1] ?? null, values[index + 1] ?? null];
    if (before === null && after === null) dots.push([x(index), y(value)]);
    else path += `${before === null ? 'M' : 'L'}${x(index).toFixed(1)},${y(value).toFixed(1)}`;
  });
  return { path, dots };
};

/** @param {readonly { x: number, low: number, high: number }[]} part */
const outlineOf = (part) => {
  if (part.length === 0) return '';
  const [only] = part;
  const points =
    part.length === 1 && only
      ? [
          { ...only, x: only.x - 2 },
          { ...only, x: only.x + 2 },
        ]
      : part;
  const upper = points.map(({ x, high }) => `${x.toFixed(1)},${high.toFixed(1)}`);
  const lower = points.toReversed().map(({ x, low }) => `${x.toFixed(1)},${low.toFixed(1)}`);
  return `M${[...upper, ...lower].join('L')}Z`;
};

/** @param {Band} band @param {Frame} frame */
const bandPath = ({ lower, upper }, { first, dates, x, y }) => {
  let path = '';
  /** @type {{ x: number, low: number, high: number }[]} */
  let part = [];
  dates.forEach((date, index) => {
    const [low, high] = [lower[first + index] ?? null, upper[first + index] ?? null];
    if (low !== null && high !== null) part.push({ x: x(date), low: y(low), high: y(high) });
    else {
      path += outlineOf(part);
      part = [];
    }
  });
  return path + outlineOf(part);
};

/** @param {ChartOptions['shades']} shades @param {Frame} frame */
const shadeRects = (shades, { start, end, x, plot }) =>
  (shades?.spans ?? []).flatMap(([since, until]) => {
    const [left, right] = [x(since < start ? start : since), x(until > end ? end : until)];
    if (until <= start || since >= end || right <= left) return [];
    const height = plot.bottom - plot.top;
    return [svg('rect', { x: left, y: plot.top, width: right - left, height, fill: paint('shade') })];
  });

/** @param {Frame} frame */
const valueAxis = ({ unitLines, ticks, tickTexts, low, y, plot }) => [
  ...unitLines.map((line, index) =>
    svg('text', { x: 2, y: FONT_SIZE + index * LINE_HEIGHT, fill: paint('muted'), class: 'unit' }, line),
  ),
  ...ticks.flatMap((tick, index) => {
    const isZero = tick === 0 && low < 0;
    const stroke = { stroke: paint(isZero ? 'muted' : 'line'), 'stroke-width': 1, class: isZero ? 'zero' : undefined };
    const text = { x: plot.left - 6, y: y(tick) + 4, 'text-anchor': 'end', fill: paint('muted'), class: 'tick' };
    return [
      svg('line', { x1: plot.left, x2: plot.right, y1: y(tick), y2: y(tick), ...stroke }),
      svg('text', text, `${tickTexts[index]}`),
    ];
  }),
];

/** @param {Frame} frame */
const dateAxis = ({ start, end, x, plot, width, height }) => {
  const stroke = paint('muted');
  let free = 0;
  return [
    ...dateTicks(start, end, plot.right - plot.left).flatMap(({ date, text }) => {
      const half = textWidth(text) / 2;
      const middle = Math.min(Math.max(x(date), half), width - half);
      const mark = svg('line', { x1: x(date), x2: x(date), y1: plot.bottom, y2: plot.bottom + 4, stroke });
      if (middle - half < free) return [mark];
      free = middle + half + 8;
      const place = { x: middle, y: height - 6, 'text-anchor': 'middle', fill: stroke, class: 'tick' };
      return [mark, svg('text', place, text)];
    }),
    svg('line', { x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom, stroke }),
  ];
};

/** @param {Line} line @param {readonly (number | null)[]} values @param {Frame} frame */
const barRects = ({ color }, values, { dates, slot, x, y }) => {
  const width = Math.min(BAR_WIDTH, Math.max(1, slot * BAR_SHARE));
  return values.flatMap((value, index) => {
    if (value === null) return [];
    const [top, bottom] = [y(Math.max(value, 0)), y(Math.min(value, 0))];
    const place = { x: x(`${dates[index]}`) - width / 2, y: top, width, height: Math.max(bottom - top, 0.5) };
    return [svg('rect', { ...place, fill: paint(color), class: 'bar' })];
  });
};

/** @param {Line} line @param {readonly (number | null)[]} values @param {Frame} frame */
const linePath = ({ color, dashed }, values, { dates, x, y }) => {
  const { path, dots } = lineOf(values, (index) => x(`${dates[index]}`), y);
  return [
    svg('path', {
      d: path,
      fill: 'none',
      stroke: paint(color),
      'stroke-width': 2,
      'stroke-linejoin': 'round',
      'stroke-dasharray': dashed ? '6 4' : undefined,
      class: 'line',
    }),
    ...dots.map(([cx, cy]) => svg('circle', { cx, cy, r: 3, fill: paint(color) })),
  ];
};

/** @param {{ text: string, color: string, y: number }[]} names @param {number} top @param {number} bottom */
const apart = (names, top, bottom) => {
  const sorted = names.toSorted((a, b) => a.y - b.y);
  let floor = top;
  for (const name of sorted) {
    name.y = Math.max(name.y, floor);
    floor = name.y + LINE_HEIGHT;
  }
  let ceiling = bottom;
  for (const name of sorted.toReversed()) {
    name.y = Math.min(name.y, ceiling);
    ceiling = name.y - LINE_HEIGHT;
  }
  return sorted;
};

/** @param {readonly Line[]} lines @param {Frame} frame */
const lineNames = (lines, { columns, y, plot, isNamed }) => {
  if (!isNamed) return [];
  const names = lines.flatMap(({ short, color }, index) => {
    const value = columns[index]?.findLast((one) => one !== null);
    return short === undefined || typeof value !== 'number' ? [] : [{ text: short, color, y: y(value) + 4 }];
  });
  return apart(names, plot.top + 4, plot.bottom).map(({ text, color, y }) =>
    svg('text', { x: plot.right + 8, y, fill: paint(color), 'font-weight': 600, class: 'end' }, text),
  );
};

/**
 * Draws a chart for the screen, for paper or for an image file.
 * @param {ChartOptions} options @param {{ width: number, height: number }} size in pixels
 * @returns {Drawing}
 */
export const draw = (options, size) => {
  const { lines, band, shades } = options;
  const frame = frameOf(options, size);
  const { dates, first, x, y, plot, columns } = frame;
  const root = svg(
    'svg',
    {
      viewBox: `0 0 ${size.width} ${size.height}`,
      'font-family': FONT_FAMILY,
      'font-size': FONT_SIZE,
      'aria-hidden': 'true',
    },
    ...shadeRects(shades, frame),
    ...valueAxis(frame),
    ...dateAxis(frame),
    ...(band ? [svg('path', { d: bandPath(band, frame), fill: paint('band'), class: 'band' })] : []),
    ...lines.flatMap((line, index) => (line.bars ? barRects : linePath)(line, columns[index] ?? [], frame)),
    ...lineNames(lines, frame),
  );
  return { svg: root, dates, first, x, y, plot };
};

/**
 * @param {Pick<ChartOptions, 'lines' | 'band' | 'shades' | 'dates' | 'from'>} options
 * @returns {{ label: string, swatch: SVGSVGElement }[]}
 */
export const legendOf = ({ lines, band, shades, dates, from = `${dates[0]}` }) => {
  const hasShades = shades?.spans.some(([since, until]) => until > from && since < `${dates.at(-1)}`);
  /** @param {SVGElement} mark */
  const swatch = (mark) => svg('svg', { width: 24, height: 12, viewBox: '0 0 24 12', 'aria-hidden': 'true' }, mark);
  const rect = { x: 0.5, y: 0.5, width: 23, height: 11 };
  const area = (/** @type {string} */ color) =>
    swatch(svg('rect', { ...rect, fill: paint(color), stroke: paint('control') }));
  return [
    ...lines.map(({ label, color, dashed, bars }) => {
      const stroke = { 'stroke-width': 3, 'stroke-dasharray': dashed ? '6 3' : undefined };
      const mark = bars
        ? svg('rect', { ...rect, fill: paint(color) })
        : svg('path', { d: 'M0,6H24', stroke: paint(color), ...stroke });
      return { label, swatch: swatch(mark) };
    }),
    ...(band ? [{ label: band.label, swatch: area('band') }] : []),
    ...(shades && hasShades ? [{ label: shades.label, swatch: area('shade') }] : []),
  ];
};
