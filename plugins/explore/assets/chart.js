/** Lines and bands over time, drawn by uPlot, in the page's colours, readable by pointer and by arrow keys. */
import { h } from './dom.js';

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {(number | null)[]} values one a time
 * @property {string} color a custom property of the style sheet, without `--`
 * @property {'solid' | 'dashed' | 'none'} style `none`: the edge of a band
 *
 * @typedef {object} ChartOptions
 * @property {string} label what the chart shows, for those who do not see it
 * @property {string[]} dates ascending, `YYYY-MM-DD`
 * @property {Line[]} lines
 * @property {{ upper: number, lower: number, label: string }} [band] indexes into `lines`
 * @property {(date: string) => string} dateText
 * @property {(value: number) => string} valueText
 * @property {string} [from] earliest date to show
 */

const HEIGHT = 320;
const dark = matchMedia('(prefers-color-scheme: dark)');

/** @param {string} name */
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** @param {string} date */
const seconds = (date) => Date.parse(`${date}T00:00:00Z`) / 1000;

/** @param {Pick<ChartOptions, 'lines' | 'band'>} options */
const legendOf = ({ lines, band }) =>
  h(
    'ul',
    { class: 'legend' },
    ...lines
      .filter(({ style }) => style !== 'none')
      .map(({ label, color, style }) => h('li', {}, h('span', { class: `swatch ${style} ${color}` }), label)),
    band ? h('li', {}, h('span', { class: 'swatch band' }), band.label) : null,
  );

/**
 * Values between two gaps, which no line would show.
 * @param {any} plot @param {number} series
 */
const lonely = (plot, series) => {
  const values = /** @type {(number | null | undefined)[]} */ (plot.data[series]);
  return values.flatMap((value, i) => (value == null || values[i - 1] != null || values[i + 1] != null ? [] : [i]));
};

/** @param {ChartOptions} chart @param {number} width @param {(index: number | null | undefined) => void} onpoint */
const plotOptions = ({ lines, band }, width, onpoint) => {
  const axis = { stroke: color('muted'), grid: { stroke: color('line'), width: 1 }, ticks: { stroke: color('line') } };
  return {
    width,
    height: HEIGHT,
    // Dates are days in UTC, wherever the reader is.
    tzDate: (/** @type {number} */ time) => uPlot.tzDate(new Date(time * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    axes: [axis, { ...axis, size: 56 }],
    scales: { y: { range: { min: { pad: 0.08 }, max: { pad: 0.08 } } } },
    series: [
      {},
      ...lines.map(({ label, color: name, style }) => ({
        label,
        stroke: style === 'none' ? 'transparent' : color(name),
        width: style === 'none' ? 0 : 2,
        dash: style === 'dashed' ? [6, 4] : undefined,
        spanGaps: false,
        points: { show: style !== 'none', size: 5, fill: color(name), filter: lonely },
      })),
    ],
    bands: band ? [{ series: [band.upper + 1, band.lower + 1], fill: color('band') }] : [],
    hooks: { setCursor: [(/** @type {any} */ plot) => onpoint(plot.cursor.idx)] },
  };
};

/**
 * @param {ChartOptions} options
 * @param {AbortSignal} signal ends the chart
 */
export const lineChart = (options, signal) => {
  const { label, lines, band, dateText, valueText } = options;
  const first =
    options.from === undefined
      ? 0
      : Math.max(
          0,
          options.dates.findIndex((date) => date >= `${options.from}`),
        );
  const dates = options.dates.slice(first);
  const columns = lines.map(({ values }) => values.slice(first));
  const readout = h('p', { class: 'readout muted', 'aria-live': 'polite' });
  const host = h('div', {
    class: 'plot',
    tabindex: '0',
    role: 'group',
    'aria-label': `${label} Arrow keys read its values.`,
  });
  /** @type {any} */
  let plot;
  let at = dates.length - 1;

  /** @param {number | null | undefined} index */
  const read = (index) => {
    const date = typeof index === 'number' ? dates[index] : undefined;
    if (typeof index !== 'number' || date === undefined) {
      readout.textContent = 'Point at the chart, or use the arrow keys in it, to read its values.';
      return;
    }
    at = index;
    const parts = lines.flatMap((line, n) => {
      const value = columns[n]?.[index];
      return typeof value === 'number' ? [`${line.label} ${valueText(value)}`] : [];
    });
    readout.textContent = [dateText(date), ...parts].join(' · ');
  };
  const draw = () => {
    plot?.destroy();
    plot = new uPlot(
      plotOptions(options, Math.max(host.clientWidth, 200), read),
      [dates.map(seconds), ...columns],
      host,
    );
  };
  host.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -dates.length, End: dates.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    at = Math.min(Math.max(at + step, 0), dates.length - 1);
    plot.setCursor({ left: plot.valToPos(seconds(`${dates[at]}`), 'x'), top: 0 });
  });
  const resized = new ResizeObserver(() => {
    if (!plot) draw();
    else if (host.clientWidth > 0) plot.setSize({ width: host.clientWidth, height: HEIGHT });
  });
  resized.observe(host);
  dark.addEventListener('change', draw, { signal });
  signal.addEventListener('abort', () => {
    resized.disconnect();
    plot?.destroy();
  });
  read(null);
  return h('div', { class: 'chart' }, legendOf({ lines, ...(band ? { band } : {}) }), host, readout);
};

/**
 * A chart that can be narrowed to its last years.
 * @param {ChartOptions} options
 * @param {AbortSignal} signal
 * @param {number} [years] shown at first
 */
export const rangedChart = (options, signal, years = 10) => {
  const last = options.dates.at(-1) ?? '';
  let shown = new AbortController();
  signal.addEventListener('abort', () => shown.abort());
  const place = h('div');
  /** @param {number} span */
  const show = (span) => {
    shown.abort();
    shown = new AbortController();
    const from = `${Number(last.slice(0, 4)) - span}${last.slice(4)}`;
    place.replaceChildren(lineChart(span === 0 ? options : { ...options, from }, shown.signal));
  };
  const group = `range-${options.label}`;
  const choices = [5, 10, 20, 0].map((span) =>
    h(
      'label',
      {},
      h('input', { type: 'radio', name: group, checked: span === years, onchange: () => show(span) }),
      span === 0 ? 'All' : `${span} years`,
    ),
  );
  show(years);
  return h(
    'div',
    {},
    h('fieldset', { class: 'ranges' }, h('legend', { class: 'hidden-text' }, 'Years shown'), ...choices),
    place,
  );
};
