import { h } from '../shared/dom.js';
import { paint, svg } from './svg.js';

/** @import { ChartOptions, Drawing } from './drawing.js' */

const MARGIN = 14;

/** @param {ChartOptions} options @param {number} index */
const valuesAt = ({ lines, band, extra, valueText }, index) => {
  const values = lines.flatMap(({ label, values, color, text = valueText }) => {
    const value = values[index];
    return typeof value === 'number' ? [{ label, text: text(value), value, color }] : [];
  });
  const [low, high] = [band?.lower[index], band?.upper[index]];
  const value = extra?.values[index];
  const others = [
    ...(band && typeof low === 'number' && typeof high === 'number'
      ? [{ label: band.label, text: `${valueText(low)} to ${valueText(high)}` }]
      : []),
    ...(extra && typeof value === 'number' ? [{ label: extra.label, text: extra.text(value) }] : []),
  ];
  return { values, others, isEmpty: values.length === 0 && others.length === 0 };
};

/** @typedef {ReturnType<typeof valuesAt>} Values */

/** @param {Drawing} drawn @param {number} x @param {Values} values */
const crosshair = ({ plot, y }, x, { values }) => [
  svg('line', { x1: x, x2: x, y1: plot.top, y2: plot.bottom, stroke: paint('muted') }),
  ...values.map(({ value, color }) =>
    svg('circle', { cx: x, cy: y(value), r: 4, fill: paint(color), stroke: paint('page'), 'stroke-width': 1.5 }),
  ),
];

/** @param {string} color */
const dot = (color) =>
  svg(
    'svg',
    { width: 10, height: 10, viewBox: '0 0 10 10' },
    svg('circle', { cx: 5, cy: 5, r: 4, fill: paint(color) }),
  );

/** @param {Values} values */
const rowsOf = ({ values, others, isEmpty }) => [
  ...values
    .toSorted((a, b) => b.value - a.value)
    .map(({ label, text, color }) => h('div', dot(color), h('span', label), h('b', text))),
  ...others.map(({ label, text }) => h('div', h('i'), h('span', label), h('b', text))),
  ...(isEmpty ? [h('div', 'No value was published.')] : []),
];

/** Screen readers announce hidden text with the same values as the readout. @param {ChartOptions} options */
export const readoutOf = (options) => {
  const text = h('p', { class: 'readout hidden-text', 'aria-live': 'polite' });
  const box = h('div', { class: 'values', 'aria-hidden': 'true' });
  box.hidden = true;
  const mark = svg('g', { class: 'crosshair' });
  return {
    text,
    box,
    mark,
    clear: () => {
      box.hidden = true;
      mark.replaceChildren();
    },
    /** @param {HTMLElement} host @param {Drawing} drawn @param {number} index */
    show: (host, drawn, index) => {
      const date = `${options.dates[index]}`;
      const found = valuesAt(options, index);
      const { values, others, isEmpty } = found;
      text.textContent = [
        options.dateText(date),
        ...[...values, ...others].map(({ label, text }) => `${label} ${text}`),
        ...(isEmpty ? ['no value'] : []),
      ].join(' · ');
      const x = drawn.x(date);
      mark.replaceChildren(...crosshair(drawn, x, found));
      box.replaceChildren(h('strong', options.dateText(date)), ...rowsOf(found));
      box.hidden = false;
      const place = (x * host.clientWidth) / drawn.svg.viewBox.baseVal.width;
      const fits = place + MARGIN + box.offsetWidth <= host.clientWidth;
      box.style.left = `${Math.max(0, fits ? place + MARGIN : place - MARGIN - box.offsetWidth)}px`;
    },
  };
};
