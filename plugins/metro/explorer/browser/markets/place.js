import { checkBox } from '../../../../../core/pages/data-views/controls.js';
import { latestOf, showLatest } from '../../../../../core/pages/data-views/latest.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { quarter } from '../../../../../core/pages/shared/format.js';
import { basisNote } from '../basis.js';
import { measureChoice } from './filters.js';
import { sourceRow } from './picture.js';
import { lastQuarterOf, modelOf } from './runs.js';
import { valuesByYear, yearMaps, yearsOf } from './years.js';

/** @import { Choices } from './filters.js' */
/** @import { Run } from './runs.js' */

const TITLES = {
  forecast: 'Expected change in house prices in each year',
  grade: 'Risk grades in each year',
  signal: 'Signals in each year',
  last: 'Change in house prices in each year',
};

/** @param {import('./scales.js').Measure} measure @param {Run} run */
const yearOf = (measure, run) => `Year to ${quarter(measure === 'last' ? lastQuarterOf(run) : run.target)}`;

/**
 * @param {object} options @param {Choices} options.chosen @param {(change: Partial<Choices>) => void} options.choose
 * @param {(index: number) => void} options.onrun
 * @param {{ map: import('./map.js').Outlines, runs: readonly Run[] }} options.loaded
 * @param {ReturnType<typeof import('./picture.js').marketMap>} options.picture
 * @param {{ source: string | undefined, credits: () => readonly string[] }} options.origin @param {HTMLElement} options.slider
 * @param {Parameters<typeof valuesByYear>[2]} options.forecastsOf @param {AbortSignal} options.signal
 */
export const mapSection = ({ chosen, choose, onrun, loaded, picture, origin, slider, forecastsOf, signal }) => {
  const place = h('div', { class: 'each-year scroll' });
  const next = latestOf(signal);
  const toggle = checkBox('each', 'A map for each year', chosen.years, (years) => choose({ years }));
  const section = h(
    'section',
    { class: 'place', 'aria-label': 'Map' },
    h('div', { class: 'switches' }, measureChoice(chosen, choose), toggle.element),
    ...[picture.title, picture.element, picture.legend, slider, picture.source],
    place,
  );
  /**
   * Measure shown by the small maps. They ignore the filters, so they are redrawn only if the measure changes.
   * @type {Choices['colour'] | undefined}
   */
  let drawn;
  const showYears = async () => {
    const years = yearsOf(loaded.runs);
    const { colour } = chosen;
    const reconstructed = years.filter(({ run }) => run.basis === 'reconstructed');
    drawn = undefined;
    const load = () => valuesByYear(years, colour, forecastsOf, signal);
    await showLatest(next, place, load, (all) => {
      const maps = yearMaps(
        loaded.map,
        colour,
        years.map(({ run, index }, at) => ({
          text: yearOf(colour, run),
          values: all[at] ?? new Map(),
          pick: () => onrun(index),
        })),
      );
      const saved = { title: TITLES[colour], file: 'maps', drawn: maps.content, credits: origin.credits };
      place.replaceChildren(
        h('h2', { class: 'map-title' }, TITLES[colour]),
        h('p', { class: 'meaning muted' }, ...(colour === 'last' ? [] : basisNote(reconstructed.length, years.length))),
        h('ul', { class: 'legend' }, ...maps.legend),
        maps.element,
        sourceRow([origin.source, ...years.map(({ run }) => modelOf(colour, run))], saved),
      );
      drawn = colour;
    });
  };
  return {
    element: section,
    update: () => {
      section.classList.toggle('by-year', chosen.years);
      toggle.box.checked = chosen.years;
      if (chosen.years && drawn !== chosen.colour) void showYears();
    },
  };
};
