import { paint, svg } from '../../../../../core/pages/data-views/svg.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { allIndexes } from '../index-data.js';
import { addMonths } from '../market-figures.js';
import { legendItems, legendOf } from './picture.js';
import { lastQuarterOf, lastYearTo } from './runs.js';
import { fillsOf, scaleOf } from './scales.js';

/** @import { Outlines } from './map.js' */
/** @import { Run } from './runs.js' */
/** @import { Measure } from './scales.js' */

/** @typedef {Map<string, string | number | null>} Values @typedef {{ index: number, run: Run }} Year */

const MOST_MAPS = 12;
/** Distance between the dots of a pattern, in map units. */
const PATTERN = 72;

/** @param {readonly Run[]} runs @returns {Year[]} */
export const yearsOf = (runs) => {
  const quarter = runs.at(-1)?.target.slice(5, 7);
  return runs
    .map((run, index) => ({ run, index }))
    .filter(({ run }) => run.target.slice(5, 7) === quarter)
    .slice(-MOST_MAPS);
};

/**
 * @param {readonly Year[]} years @param {Measure} measure
 * @param {(run: Run) => Promise<Map<string, import('../../../client/api-types.js').AreaForecastTrack>>} forecastsOf @param {AbortSignal} signal
 * @returns {Promise<Values[]>}
 */
export const valuesByYear = async (years, measure, forecastsOf, signal) => {
  if (measure === 'last') {
    const [first, last] = [years[0], years.at(-1)];
    if (!first || !last) return [];
    const indexes = await allIndexes(signal, addMonths(lastQuarterOf(first.run), -12), lastQuarterOf(last.run));
    return years.map(({ run }) => {
      const changeOf = lastYearTo(indexes, lastQuarterOf(run));
      return new Map([...indexes.keys()].map((cbsa) => [cbsa, changeOf(cbsa)]));
    });
  }
  const key = /** @type {const} */ ({ forecast: 'point', grade: 'risk_score', signal: 'signal' })[measure];
  const all = await Promise.all(years.map(({ run }) => forecastsOf(run)));
  return all.map((forecasts) => new Map([...forecasts].map(([cbsa, row]) => [cbsa, row[key]])));
};

/**
 * Draws one of many small maps. To keep the number of SVG elements low, all metros of a colour share one path.
 * @param {Outlines} outlines @param {Values} values @param {(value: any) => string} colorOf
 */
const panelOf = ({ size, land, areas }, values, colorOf) => {
  const { fill, definitions } = fillsOf(PATTERN);
  /** @type {Map<string, string>} */
  const paths = new Map();
  for (const [cbsa, value] of values) {
    const color = colorOf(value);
    paths.set(color, `${paths.get(color) ?? ''}${areas[cbsa]?.[0] ?? ''}`);
  }
  return svg(
    'svg',
    { viewBox: `0 0 ${size[0]} ${size[1]}`, 'aria-hidden': 'true', class: 'map' },
    definitions,
    svg('path', { d: land, fill: paint('raised'), stroke: paint('line'), 'stroke-width': 8 }),
    ...[...paths].map(([color, d]) => svg('path', { d, fill: fill(color) })),
  );
};

const COLUMNS = 4;
const HEAD = 20;

/** @param {readonly { text: string, map: SVGSVGElement }[]} panels @param {{ width: number, height: number }} size */
const gridOf = (panels, { width, height }) => {
  const rows = Math.ceil(panels.length / COLUMNS);
  const [w, tall] = [width / COLUMNS, height / rows];
  const cells = panels.flatMap(({ text, map }, index) => {
    const [x, y] = [(index % COLUMNS) * w, Math.floor(index / COLUMNS) * tall];
    const copy = /** @type {SVGSVGElement} */ (map.cloneNode(true));
    for (const [name, value] of Object.entries({ x, y: y + HEAD, width: w - 12, height: tall - HEAD - 6 })) {
      copy.setAttribute(name, String(value));
    }
    return [svg('text', { x, y: y + 14, 'font-size': 14, fill: paint('text') }, text), copy];
  });
  return svg('svg', { viewBox: `0 0 ${width} ${height}` }, ...cells);
};

/**
 * @param {Outlines} outlines @param {Measure} measure
 * @param {readonly { text: string, values: Values, pick: () => void }[]} years
 */
export const yearMaps = (outlines, measure, years) => {
  const { colorOf, steps } = scaleOf(
    measure,
    years.flatMap(({ values }) => [...values.values()]),
  );
  const panels = years.map(({ text, values, pick }) => ({ text, pick, map: panelOf(outlines, values, colorOf) }));
  return {
    element: h(
      'div',
      { class: 'years' },
      ...panels.map(({ text, map, pick }) =>
        h('button', { type: 'button', class: 'quiet', onclick: pick }, h('span', text), map),
      ),
    ),
    legend: legendItems(steps),
    content: () => ({
      legend: legendOf(steps),
      draw: (/** @type {{ width: number, height: number }} */ size) => gridOf(panels, size),
    }),
  };
};
