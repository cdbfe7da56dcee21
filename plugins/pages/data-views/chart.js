/** A chart whose values are read by mouse, touch or arrow keys. */
import { h } from '../shared/dom.js';
import { draw, legendOf, paint, svg } from './drawing.js';

/** @typedef {import('./drawing.js').ChartOptions} ChartOptions */

const HEIGHT = 340;
/** The least height of a chart: a page in a lower frame scrolls. */
const LEAST_HEIGHT = 120;
/** The size of charts on paper: as wide as A4 and Letter less their margins, low enough for two on a Letter page. */
const PAPER = { width: 680, height: 180 };

/**
 * The values at a date, for the box beside the pointer and for screen readers.
 * @param {ChartOptions} options @param {number} index
 */
const valuesAt = ({ lines, band, told, valueText }, index) => {
  const values = lines.flatMap(({ label, values, color, dashed }) => {
    const value = values[index];
    return typeof value === 'number' ? [{ label, text: valueText(value), value, color, dashed }] : [];
  });
  const [low, high] = [band?.lower[index], band?.upper[index]];
  const value = told?.values[index];
  const beside = [
    ...(band && typeof low === 'number' && typeof high === 'number'
      ? [{ label: band.label, text: `${valueText(low)} to ${valueText(high)}` }]
      : []),
    ...(told && typeof value === 'number' ? [{ label: told.label, text: told.text(value) }] : []),
  ];
  return { values, beside };
};

/** What a frame leaves for the plot, so that all of the page fits into it. @param {HTMLElement} host */
const heightInFrame = (host) => {
  const others = document.body.offsetHeight - host.offsetHeight;
  return Math.max(LEAST_HEIGHT, innerHeight - others);
};

/** @param {ChartOptions} options */
const legend = (options) =>
  h('ul', { class: 'legend' }, ...legendOf(options).map(({ label, swatch }) => h('li', {}, swatch, label)));

/**
 * @param {ChartOptions} options
 * @param {AbortSignal} signal ends the chart
 */
export const chart = (options, signal) => {
  const { dates, dateText } = options;
  const framed = document.body.matches('.embedded');
  const readout = h('p', { class: 'readout hidden-text', 'aria-live': 'polite' });
  const box = h('div', { class: 'values', 'aria-hidden': 'true' });
  box.hidden = true;
  const host = h('div', {
    class: 'plot',
    tabindex: '0',
    role: 'group',
    'aria-label': `${options.label} Arrow keys read its values.`,
  });
  const mark = svg('g', { class: 'crosshair' });
  /** @type {import('./drawing.js').Drawing | undefined} */
  let drawn;
  /** @type {number | undefined} */
  let shown;

  const clear = () => {
    box.hidden = true;
    mark.replaceChildren();
  };
  const show = (/** @type {number} */ index) => {
    if (!drawn) return;
    shown = index;
    const date = `${dates[index]}`;
    const { values, beside } = valuesAt(options, index);
    readout.textContent = [
      dateText(date),
      ...[...values, ...beside].map(({ label, text }) => `${label} ${text}`),
      ...(values.length === 0 && beside.length === 0 ? ['no value'] : []),
    ].join(' · ');
    const { plot, x, y } = drawn;
    const place = x(date);
    mark.replaceChildren(
      svg('line', { x1: place, x2: place, y1: plot.top, y2: plot.bottom, stroke: paint('muted') }),
      ...values.map(({ value, color }) =>
        svg('circle', {
          cx: place,
          cy: y(value),
          r: 4,
          fill: paint(color),
          stroke: paint('page'),
          'stroke-width': 1.5,
        }),
      ),
    );
    box.replaceChildren(
      h('strong', {}, dateText(date)),
      ...values
        .toSorted((a, b) => b.value - a.value)
        .map(({ label, text, color }) => {
          const dot = svg(
            'svg',
            { width: 10, height: 10, viewBox: '0 0 10 10' },
            svg('circle', { cx: 5, cy: 5, r: 4, fill: paint(color) }),
          );
          return h('div', {}, dot, h('span', {}, label), h('b', {}, text));
        }),
      ...beside.map(({ label, text }) => h('div', {}, h('i'), h('span', {}, label), h('b', {}, text))),
      ...(values.length === 0 && beside.length === 0 ? [h('div', {}, 'No value was published.')] : []),
    );
    box.hidden = false;
    const scale = host.clientWidth / drawn.svg.viewBox.baseVal.width;
    const left = place * scale;
    const right = left + 14 + box.offsetWidth <= host.clientWidth ? left + 14 : left - 14 - box.offsetWidth;
    box.style.left = `${Math.max(0, right)}px`;
  };

  const showNearest = (/** @type {number} */ clientX) => {
    if (!drawn) return;
    const { left, width } = drawn.svg.getBoundingClientRect();
    const wanted = ((clientX - left) / width) * drawn.svg.viewBox.baseVal.width;
    let best = 0;
    drawn.dates.forEach((date, index) => {
      if (drawn && Math.abs(drawn.x(date) - wanted) < Math.abs(drawn.x(`${drawn.dates[best]}`) - wanted)) best = index;
    });
    show(best + drawn.first);
  };
  const redraw = (/** @type {{ width: number, height: number }} */ size) => {
    drawn = draw(options, size);
    drawn.svg.append(mark);
    clear();
    host.replaceChildren(drawn.svg, box);
  };
  const adapt = () => {
    if (host.clientWidth === 0) return;
    const height = Math.min(HEIGHT, 180 + host.clientWidth / 3);
    redraw({ width: host.clientWidth, height: framed ? heightInFrame(host) : height });
  };

  host.addEventListener('pointermove', (event) => showNearest(event.clientX));
  host.addEventListener('pointerdown', (event) => {
    // A finger that leaves the chart sideways goes on reading; one that moves up or down scrolls the page.
    if (event.pointerType === 'touch') host.setPointerCapture(event.pointerId);
    showNearest(event.clientX);
  });
  host.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse') clear();
  });
  host.addEventListener('blur', clear);
  host.addEventListener('keydown', (event) => {
    const first = drawn?.first ?? 0;
    const last = dates.length - 1;
    const from = shown ?? last;
    const next = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: first, End: last, Escape: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (event.key === 'Escape') clear();
    else show(Math.min(Math.max(next, first), last));
  });
  let printing = false;
  const resized = new ResizeObserver(() => {
    if (printing) return;
    const { width = 0, height = 0 } = drawn?.svg.viewBox.baseVal ?? {};
    if (width !== host.clientWidth || (framed && Math.abs(height - heightInFrame(host)) > 1)) adapt();
  });
  resized.observe(host);
  if (framed) {
    // The attribution is added below the chart later, and leaves it less height.
    resized.observe(document.body);
    addEventListener('resize', adapt, { signal });
  }
  const setPrinting = (/** @type {boolean} */ isPrinting) => {
    printing = isPrinting;
    if (printing) redraw(PAPER);
    else adapt();
  };
  addEventListener('beforeprint', () => setPrinting(true), { signal });
  addEventListener('afterprint', () => setPrinting(false), { signal });
  signal.addEventListener('abort', () => resized.disconnect());
  return h('div', { class: 'chart' }, legend(options), host, readout);
};
