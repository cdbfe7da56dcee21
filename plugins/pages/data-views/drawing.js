/**
 * Draws lines and bands over time as SVG: one drawing for the screen, for paper and for pictures to take away. Colours
 * are custom properties of the style sheet, so that the drawing follows the page's colours by itself.
 */
import { number } from '../shared/format.js';

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} [short] beside the line's end, where there is room
 * @property {readonly (number | null)[]} values one a date; null is a gap
 * @property {string} color a custom property, without `--`
 * @property {boolean} [dashed]
 * @property {boolean} [bars] from zero, one a date, in the place of a line
 *
 * @typedef {object} Band
 * @property {string} label
 * @property {readonly (number | null)[]} lower
 * @property {readonly (number | null)[]} upper
 *
 * @typedef {object} ChartOptions
 * @property {string} label what the chart shows, in one sentence
 * @property {string} unit of the values, above their axis
 * @property {readonly string[]} dates ascending, `YYYY-MM-DD`
 * @property {readonly Line[]} lines
 * @property {Band} [band]
 * @property {{ label: string, spans: readonly (readonly [from: string, to: string])[] }} [shades] times in the background
 * @property {(date: string) => string} dateText
 * @property {(value: number) => string} valueText
 * @property {string | undefined} [from] earliest date to show
 * @property {{ label: string, values: readonly (number | null)[], text: (value: number) => string }} [told] is read with
 *   the lines' values, and not drawn
 *
 * @typedef {object} Drawing
 * @property {SVGSVGElement} svg
 * @property {readonly string[]} dates those shown
 * @property {number} first index of the first of them among all
 * @property {(date: string) => number} x
 * @property {(value: number) => number} y
 * @property {{ left: number, right: number, top: number, bottom: number }} plot the part inside the axes
 */

const NAMESPACE = 'http://www.w3.org/2000/svg';
const FONT = 12;
const FAMILY = 'system-ui, sans-serif';
/** Lines of text below each other. */
const LINE = 15;

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | undefined>} attributes
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
};

const ruler = document.createElement('canvas').getContext('2d');

/** @param {string} text @param {number} [size] @param {number} [weight] */
export const textWidth = (text, size = FONT, weight = 400) => {
  if (!ruler) return text.length * size * 0.6;
  ruler.font = `${weight} ${size}px ${FAMILY}`;
  return ruler.measureText(text).width;
};

/** @param {string} text @param {number} width in pixels @param {number} [size] @param {number} [weight] @returns {string[]} lines */
export const wrap = (text, width, size = FONT, weight = 400) => {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`.trim();
    if (lines.length > 0 && textWidth(longer, size, weight) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
};

/** @param {string} name */
export const paint = (name) => `var(--${name})`;

/** @param {string} date */
const timeOf = (date) => Date.parse(`${date}T00:00:00Z`);

/**
 * About `count` round values that cover a range.
 * @param {number} low @param {number} high @param {number} count
 */
const roundTicks = (low, high, count) => {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999) ?? power * 10;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) {
    ticks.push(Number((n * step).toFixed(digits)));
  }
  return { ticks, digits };
};

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * Years where there are enough of them, months otherwise.
 * @param {string} first @param {string} last @param {number} width
 */
const dateTicks = (first, last, width) => {
  const years = Number(last.slice(0, 4)) - Number(first.slice(0, 4));
  const room = Math.max(2, Math.floor(width / 62));
  /** @type {{ date: string, text: string }[]} */
  const ticks = [];
  if (years >= 3) {
    const step = [1, 2, 5, 10, 20, 50].find((one) => years / one <= room) ?? 100;
    for (
      let year = Math.ceil(Number(first.slice(0, 4)) / step) * step;
      year <= Number(last.slice(0, 4));
      year += step
    ) {
      ticks.push({ date: `${year}-01-01`, text: String(year) });
    }
  } else {
    const from = Number(first.slice(0, 4)) * 12 + Number(first.slice(5, 7)) - 1;
    const until = Number(last.slice(0, 4)) * 12 + Number(last.slice(5, 7)) - 1;
    const step = [1, 3, 6, 12].find((one) => (until - from) / one <= room) ?? 12;
    for (let month = Math.ceil(from / step) * step; month <= until; month += step) {
      const [year, index] = [Math.floor(month / 12), month % 12];
      ticks.push({
        date: `${year}-${String(index + 1).padStart(2, '0')}-01`,
        text: index === 0 || ticks.length === 0 ? `${MONTHS[index]} ${year}` : `${MONTHS[index]}`,
      });
    }
  }
  return ticks.filter(({ date }) => date >= first && date <= last);
};

/**
 * The parts of a line between its gaps, as path data; single values have a dot.
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

/** @param {Band} band @param {number} first @param {(index: number) => number} x @param {(value: number) => number} y */
const bandOf = ({ lower, upper }, first, x, y) => {
  let path = '';
  /** @type {{ x: number, low: number, high: number }[]} */
  let part = [];
  const close = () => {
    // An interval that stands alone is a stroke of some width.
    const points =
      part.length === 1
        ? part.flatMap((one) => [
            { ...one, x: one.x - 2 },
            { ...one, x: one.x + 2 },
          ])
        : part;
    if (points.length > 0) {
      const there = points.map((one) => `${one.x.toFixed(1)},${one.high.toFixed(1)}`);
      const back = points.toReversed().map((one) => `${one.x.toFixed(1)},${one.low.toFixed(1)}`);
      path += `M${[...there, ...back].join('L')}Z`;
    }
    part = [];
  };
  for (let index = first; index < lower.length; index += 1) {
    const [low, high] = [lower[index] ?? null, upper[index] ?? null];
    if (low === null || high === null) close();
    else part.push({ x: x(index - first), low: y(low), high: y(high) });
  }
  close();
  return path;
};

/**
 * Texts at the ends of lines, moved apart until none covers another.
 * @param {{ text: string, color: string, y: number }[]} ends @param {number} top @param {number} bottom
 */
const apart = (ends, top, bottom) => {
  const sorted = ends.toSorted((a, b) => a.y - b.y);
  let floor = top;
  for (const end of sorted) {
    end.y = Math.max(end.y, floor);
    floor = end.y + LINE;
  }
  let ceiling = bottom;
  for (const end of sorted.toReversed()) {
    end.y = Math.min(end.y, ceiling);
    ceiling = end.y - LINE;
  }
  return sorted;
};

/** Width of a bar that has all the room, in pixels. */
const BAR = 60;

/**
 * Room of a bar: the smallest step between two dates, where the first and the last one have half of it beside them.
 * @param {readonly number[]} times ascending @param {number} width
 */
const slotOf = (times, width) => {
  const [first = 0, last = first] = [times[0], times.at(-1)];
  const step = Math.min(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));
  return last > first ? (width * step) / (last - first + step) : Math.min(width, BAR / 0.8);
};

/**
 * @param {ChartOptions} options
 * @param {{ width: number, height: number }} size in pixels
 * @returns {Drawing}
 */
export const draw = (options, { width, height }) => {
  const { lines, band, shades, unit, from } = options;
  const first =
    from === undefined
      ? 0
      : Math.max(
          0,
          options.dates.findIndex((date) => date >= from),
        );
  const dates = options.dates.slice(first);
  const columns = lines.map(({ values }) => values.slice(first));
  const known = [...columns, ...(band ? [band.lower.slice(first), band.upper.slice(first)] : [])]
    .flat()
    .filter((value) => value !== null);
  let low = known.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  let high = known.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  if (known.length === 0) [low, high] = [0, 1];
  const barred = lines.some(({ bars }) => bars);
  if (barred) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const pad = high === low ? Math.abs(high) * 0.05 || 1 : (high - low) * 0.06;
  // Bars stand on zero.
  [low, high] = [barred && low === 0 ? 0 : low - pad, barred && high === 0 ? 0 : high + pad];

  const unitLines = wrap(unit, width - 4);
  const { ticks, digits } = roundTicks(low, high, Math.max(4, Math.floor(height / 55)));
  const texts = ticks.map((tick) => number(tick, digits));
  const named = width >= 640 && lines.length > 1 && lines.some(({ short }) => short !== undefined);
  const endWidth = named ? Math.max(...lines.map(({ short }) => textWidth(short ?? '', FONT, 600))) + 14 : 0;
  const plot = {
    left: Math.ceil(Math.max(...texts.map((text) => textWidth(text)))) + 10,
    right: width - Math.max(endWidth, 18),
    top: unitLines.length * LINE + 17,
    bottom: height - 24,
  };
  const [start = '1970-01-01', end = start] = [dates[0], dates.at(-1)];
  const [startTime, endTime] = [timeOf(start), timeOf(end)];
  const across = plot.right - plot.left;
  // The first and the last bar stand whole beside the axes.
  const slot = barred ? slotOf(dates.map(timeOf), across) : 0;
  const x = (/** @type {string} */ date) =>
    endTime === startTime
      ? plot.left + across / 2
      : plot.left + slot / 2 + ((timeOf(date) - startTime) / (endTime - startTime)) * (across - slot);
  const y = (/** @type {number} */ value) => plot.bottom - ((value - low) / (high - low)) * (plot.bottom - plot.top);
  const places = dates.map(x);
  const place = (/** @type {number} */ index) => places[index] ?? 0;

  const root = svg('svg', {
    viewBox: `0 0 ${width} ${height}`,
    'font-family': FAMILY,
    'font-size': FONT,
    'aria-hidden': 'true',
  });
  const muted = paint('muted');
  for (const [since, until] of shades?.spans ?? []) {
    const [left, right] = [x(since < start ? start : since), x(until > end ? end : until)];
    if (until <= start || since >= end || right <= left) continue;
    root.append(
      svg('rect', { x: left, y: plot.top, width: right - left, height: plot.bottom - plot.top, fill: paint('shade') }),
    );
  }
  unitLines.forEach((line, index) => {
    root.append(svg('text', { x: 2, y: FONT + index * LINE, fill: muted, class: 'unit' }, line));
  });
  ticks.forEach((tick, index) => {
    const line = { x1: plot.left, x2: plot.right, y1: y(tick), y2: y(tick) };
    const zero = tick === 0 && low < 0;
    root.append(
      svg('line', {
        ...line,
        stroke: paint(zero ? 'muted' : 'line'),
        'stroke-width': 1,
        class: zero ? 'zero' : undefined,
      }),
      svg(
        'text',
        { x: plot.left - 6, y: y(tick) + 4, 'text-anchor': 'end', fill: muted, class: 'tick' },
        `${texts[index]}`,
      ),
    );
  });
  let free = 0;
  for (const { date, text } of dateTicks(start, end, plot.right - plot.left)) {
    const half = textWidth(text) / 2;
    const middle = Math.min(Math.max(x(date), half), width - half);
    root.append(svg('line', { x1: x(date), x2: x(date), y1: plot.bottom, y2: plot.bottom + 4, stroke: muted }));
    if (middle - half < free) continue;
    free = middle + half + 8;
    root.append(svg('text', { x: middle, y: height - 6, 'text-anchor': 'middle', fill: muted, class: 'tick' }, text));
  }
  root.append(svg('line', { x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom, stroke: muted }));
  if (band) root.append(svg('path', { d: bandOf(band, first, place, y), fill: paint('band'), class: 'band' }));
  lines.forEach(({ color, dashed, bars }, index) => {
    if (bars) {
      const width = Math.min(BAR, Math.max(1, slot * 0.8));
      const rects = (columns[index] ?? []).flatMap((value, at) => {
        if (value === null) return [];
        const [top, bottom] = [y(Math.max(value, 0)), y(Math.min(value, 0))];
        const attributes = { x: place(at) - width / 2, y: top, width, height: Math.max(bottom - top, 0.5) };
        return [svg('rect', { ...attributes, fill: paint(color), class: 'bar' })];
      });
      root.append(...rects);
      return;
    }
    const { path, dots } = lineOf(columns[index] ?? [], place, y);
    root.append(
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
    );
  });
  if (named) {
    const ends = lines.flatMap(({ short, color }, index) => {
      const value = columns[index]?.findLast((one) => one !== null);
      return short === undefined || typeof value !== 'number' ? [] : [{ text: short, color, y: y(value) + 4 }];
    });
    for (const { text, color, y } of apart(ends, plot.top + 4, plot.bottom)) {
      root.append(svg('text', { x: plot.right + 8, y, fill: paint(color), 'font-weight': 600, class: 'end' }, text));
    }
  }
  return { svg: root, dates, first, x, y, plot };
};

/**
 * What the colours and strokes stand for.
 * @param {Pick<ChartOptions, 'lines' | 'band' | 'shades'>} options
 * @returns {{ label: string, swatch: SVGSVGElement }[]}
 */
export const legendOf = ({ lines, band, shades }) => {
  /** @param {SVGElement} mark */
  const swatch = (mark) => svg('svg', { width: 24, height: 12, viewBox: '0 0 24 12', 'aria-hidden': 'true' }, mark);
  const area = (/** @type {string} */ color) =>
    swatch(svg('rect', { x: 0.5, y: 0.5, width: 23, height: 11, fill: paint(color), stroke: paint('control') }));
  return [
    ...lines.map(({ label, color, dashed, bars }) => ({
      label,
      swatch: swatch(
        bars
          ? svg('rect', { x: 0.5, y: 0.5, width: 23, height: 11, fill: paint(color) })
          : svg('path', {
              d: 'M0,6H24',
              stroke: paint(color),
              'stroke-width': 3,
              'stroke-dasharray': dashed ? '6 3' : undefined,
            }),
      ),
    })),
    ...(band ? [{ label: band.label, swatch: area('band') }] : []),
    ...(shades && shades.spans.length > 0 ? [{ label: shades.label, swatch: area('shade') }] : []),
  ];
};
