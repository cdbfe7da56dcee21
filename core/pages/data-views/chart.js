import { h } from '../shared/dom.js';
import { draw, legendOf } from './drawing.js';
import { readoutOf } from './readout.js';

/** @import { ChartOptions, Drawing } from './drawing.js' */

/** Maximum height of a chart on the screen, in pixels. */
const MAX_HEIGHT = 340;
/** Minimum height of a chart in a frame, in pixels. A smaller frame scrolls. */
const MIN_HEIGHT = 120;
/** Sizes of printed charts in pixels. The charts and tables of a market fit on one A4 or Letter page. */
const PAPER = { width: 680, height: 132 };
const ONLY_CHART_ON_PAPER = { width: 680, height: 340 };

/** @param {HTMLElement} host */
const heightInFrame = (host) => {
  const others = document.body.offsetHeight - host.offsetHeight;
  return Math.max(MIN_HEIGHT, innerHeight - others);
};

/** @param {ChartOptions} options */
const legend = (options) =>
  h('ul', { class: 'legend' }, ...legendOf(options).map(({ label, swatch }) => h('li', swatch, label)));

/** @param {Drawing} drawn @param {number} clientX */
const nearestDate = ({ svg, dates, first, x }, clientX) => {
  const { left, width } = svg.getBoundingClientRect();
  const wanted = ((clientX - left) / width) * svg.viewBox.baseVal.width;
  const distances = dates.map((date) => Math.abs(x(date) - wanted));
  return first + Math.max(0, distances.indexOf(Math.min(...distances)));
};

/**
 * @param {HTMLElement} host
 * @param {{ drawn: () => Drawing | undefined, last: number, show: (index: number) => void, clear: () => void }} chart
 */
const listen = (host, { drawn, last, show, clear }) => {
  let shown = last;
  const showAt = (/** @type {number} */ index) => {
    shown = index;
    show(index);
  };
  const showNearest = (/** @type {PointerEvent} */ { clientX }) => {
    const drawing = drawn();
    if (drawing) showAt(nearestDate(drawing, clientX));
  };
  host.addEventListener('pointermove', showNearest);
  host.addEventListener('pointerdown', (event) => {
    // Capturing the pointer keeps the values visible while a finger moves outside the chart.
    if (event.pointerType === 'touch') host.setPointerCapture(event.pointerId);
    showNearest(event);
  });
  host.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse') clear();
  });
  host.addEventListener('blur', clear);
  host.addEventListener('keydown', (event) => {
    const first = drawn()?.first ?? 0;
    const next = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: first, End: last, Escape: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (event.key === 'Escape') clear();
    else showAt(Math.min(Math.max(next, first), last));
  });
};

/**
 * @param {HTMLElement} host @param {(size: { width: number, height: number }) => Drawing} redraw
 * @param {AbortSignal} signal
 */
const followSize = (host, redraw, signal) => {
  const isFramed = document.body.matches('.embedded');
  let isPrinting = false;
  /** @type {Drawing | undefined} */
  let drawn;
  const adapt = () => {
    const width = host.clientWidth;
    if (width === 0) return;
    drawn = redraw({ width, height: isFramed ? heightInFrame(host) : Math.min(MAX_HEIGHT, 180 + width / 3) });
  };
  const resized = new ResizeObserver(() => {
    if (isPrinting) return;
    const { width = 0, height = 0 } = drawn?.svg.viewBox.baseVal ?? {};
    if (width !== host.clientWidth || (isFramed && Math.abs(height - heightInFrame(host)) > 1)) adapt();
  });
  resized.observe(host);
  if (isFramed) {
    resized.observe(document.body);
    addEventListener('resize', adapt, { signal });
  }
  const beforePrint = () => {
    isPrinting = true;
    drawn = redraw(document.querySelectorAll('.plot').length === 1 ? ONLY_CHART_ON_PAPER : PAPER);
  };
  const afterPrint = () => {
    isPrinting = false;
    adapt();
  };
  addEventListener('beforeprint', beforePrint, { signal });
  addEventListener('afterprint', afterPrint, { signal });
  signal.addEventListener('abort', () => resized.disconnect());
};

/** @param {ChartOptions} options @param {AbortSignal} signal */
export const chart = (options, signal) => {
  const { text, box, mark, show, clear } = readoutOf(options);
  const host = h('div', {
    class: 'plot',
    tabindex: '0',
    role: 'group',
    'aria-label': `${options.label} Use the arrow keys to read the values.`,
  });
  /** @type {Drawing | undefined} */
  let drawn;
  listen(host, {
    drawn: () => drawn,
    last: options.dates.length - 1,
    show: (index) => drawn && show(host, drawn, index),
    clear,
  });
  const redraw = (/** @type {{ width: number, height: number }} */ size) => {
    drawn = draw(options, size);
    drawn.svg.append(mark);
    clear();
    host.replaceChildren(drawn.svg, box);
    return drawn;
  };
  followSize(host, redraw, signal);
  return h('div', { class: 'chart' }, legend(options), host, text);
};
