/** The map of the view of all markets, with its legend. */
import { h } from '../../../../pages/shared/dom.js';
import { number, percent } from '../../../../pages/shared/format.js';
import { plainName } from '../search.js';
import { metroMap } from './map.js';
import { scaleOf, swatchOf } from './scales.js';

/** @typedef {import('./runs.js').Row} Row */

/** The lines of the box next to a market. @param {Row} row */
const describe = ({ name, forecast, lower, upper, grade, signal, last }) => {
  const range = lower === null ? '' : ` (${number(lower, 1)} to ${number(upper, 1)})`;
  return [
    h('strong', {}, plainName(name)),
    `Forecast ${percent(forecast)}${range}`,
    `Grade ${grade ?? '–'}, ${signal ?? 'no signal'}`,
    `Last year ${percent(last)}`,
  ];
};

/** @param {import('./map.js').Outlines} outlines @param {readonly { cbsa: string }[]} markets */
export const marketMap = (outlines, markets) => {
  /** @type {Map<string, Row>} */
  let byCode = new Map();
  const map = metroMap({
    outlines,
    label: 'Map of the markets, coloured by the figure chosen.',
    codes: markets.map(({ cbsa }) => cbsa),
    describe: (cbsa) => {
      const row = byCode.get(cbsa);
      return row ? describe(row) : [];
    },
    onpick: (cbsa) => {
      location.hash = `#/markets/${cbsa}`;
    },
  });
  const legend = h('ul', { class: 'legend' });
  return {
    element: map.element,
    legend,
    /** @param {readonly Row[]} rows @param {ReadonlySet<string>} shown codes of the markets in the list @param {import('./scales.js').Measure} measure */
    show: (rows, shown, measure) => {
      byCode = new Map(rows.map((row) => [row.cbsa, row]));
      const scale = scaleOf(
        measure,
        rows.map((row) => row[measure]),
      );
      map.colour((cbsa) => ({
        color: scale.colorOf(byCode.get(cbsa)?.[measure] ?? null),
        isFaint: !shown.has(cbsa),
      }));
      legend.replaceChildren(...scale.steps.map(({ color, label }) => h('li', {}, swatchOf(color), label)));
    },
  };
};
