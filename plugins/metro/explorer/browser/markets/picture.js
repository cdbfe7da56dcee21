import { pictureButtons, sourceLine } from '../../../../../core/pages/data-views/figure.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { number, percent } from '../../../../../core/pages/shared/format.js';
import { plainName } from '../search.js';
import { metroMap } from './map.js';
import { modelOf } from './runs.js';
import { scaleOf, swatchOf, UNSELECTED } from './scales.js';
import { mapTitle } from './texts.js';

/** @import { Row, Run } from './runs.js' */
/** @import { Measure, Step } from './scales.js' */

/** @param {Row} row */
const describe = ({ name, forecast, lower, upper, grade, signal, last }) => {
  const range = lower === null ? '' : ` (${number(lower, 1)} to ${number(upper, 1)})`;
  return [
    h('strong', plainName(name)),
    `Forecast ${percent(forecast)}${range}`,
    `Grade ${grade ?? '–'}, ${signal ?? 'no signal'}`,
    `Last year ${percent(last)}`,
  ];
};

/** @param {readonly Step[]} steps */
export const legendOf = (steps) => steps.map((step) => ({ label: step.label, swatch: swatchOf(step) }));

/** @param {readonly Step[]} steps */
export const legendItems = (steps) => legendOf(steps).map(({ label, swatch }) => h('li', swatch, label));

/** @param {Parameters<typeof sourceLine>[0]} sources @param {import('../../../../../core/pages/data-views/figure.js').Picture} picture */
export const sourceRow = (sources, picture) =>
  h('div', { class: 'source-row' }, sourceLine(sources), h('div', { class: 'tools' }, ...pictureButtons(picture)));

/**
 * @param {import('./map.js').Outlines} outlines @param {readonly { cbsa: string }[]} markets
 * @param {{ source: string | undefined, credits: () => readonly string[] }} origin
 */
export const marketMap = (outlines, markets, { source, credits }) => {
  /** @type {Map<string, Row>} */
  let byCode = new Map();
  /** @type {readonly Step[]} */
  let steps = [];
  const title = h('h2', { class: 'map-title' });
  const map = metroMap({
    outlines,
    label: 'Map of the markets, coloured by the selected figure.',
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
  const picture = {
    get title() {
      return `${title.textContent}`;
    },
    file: 'map',
    drawn: () => ({
      legend: legendOf(steps),
      draw: (/** @type {{ width: number, height: number }} */ { width, height }) => {
        const copy = map.copy();
        copy.setAttribute('width', String(width));
        copy.setAttribute('height', String(height));
        return copy;
      },
    }),
    credits,
  };
  const row = h('div', { class: 'source-row' });
  return {
    title,
    frame: map.frame,
    element: map.element,
    legend,
    source: row,
    /** @param {readonly Row[]} rows @param {{ codes: ReadonlySet<string>, measure: Measure, run: Run | undefined, until: string }} shown */
    show: (rows, { codes, measure, run, until }) => {
      byCode = new Map(rows.map((row) => [row.cbsa, row]));
      const values = rows.map((row) => row[measure]);
      const scale = scaleOf(measure, values);
      steps = codes.size < markets.length ? [...scale.steps, UNSELECTED] : scale.steps;
      title.textContent = mapTitle(measure, run, until);
      map.colour((cbsa) => (codes.has(cbsa) ? scale.colorOf(byCode.get(cbsa)?.[measure] ?? null) : undefined));
      legend.replaceChildren(...legendItems(steps));
      row.replaceChildren(...sourceRow([source, modelOf(measure, run)], picture).children);
    },
  };
};
