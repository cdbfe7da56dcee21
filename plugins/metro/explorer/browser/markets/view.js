import { keepInAddress, listIn } from '../../../../../core/pages/data-views/address.js';
import { latestOf, showLatest } from '../../../../../core/pages/data-views/latest.js';
import { retitle } from '../../../../../core/pages/data-views/router.js';
import { narrowBy } from '../../../../../core/pages/data-views/search-field.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { reconstructed } from '../basis.js';
import { allMarkets, creditOf, HPI, places, seriesOf } from '../catalog.js';
import { recordsBy } from '../index-data.js';
import { searcher, statesOf } from '../search.js';
import { loadZips, metroOfZip } from '../zip-codes.js';
import { choicesOf, runSlider } from './filters.js';
import { listSection } from './list-section.js';
import { outlines } from './map.js';
import { marketMap } from './picture.js';
import { mapSection } from './place.js';
import { forecastsBy, rowsByRun, runsOf, selectedRun } from './runs.js';
import { factsText, findingOf, QUESTIONS } from './texts.js';
import { yearsOf } from './years.js';

/** @import { Choices } from './filters.js' */
/** @import { Market } from '../catalog.js' */
/** @import { Row } from './runs.js' */

/** @typedef {Awaited<ReturnType<typeof load>>} Loaded */

/** A run is loaded 120 milliseconds after the slider has stopped. */
const REST_MS = 120;

/** @param {readonly Market[]} markets @param {AbortSignal} signal */
const load = async (markets, signal) => {
  const outlined = outlines();
  const [{ parents }, map, runs, series, records] = await Promise.all([
    places(),
    outlined,
    runsOf(signal, markets),
    seriesOf(HPI),
    recordsBy('grade'),
  ]);
  return { markets, map, runs, series, records, find: searcher(markets, parents) };
};

/** @param {Loaded} loaded @param {Choices} chosen */
const factsOf = (loaded, chosen) => {
  const element = h('span');
  return {
    element,
    show: () => {
      const { run, until } = selectedRun(loaded, chosen);
      const one = run ? [run] : [];
      const runs = chosen.years ? yearsOf(loaded.runs).map((year) => year.run) : one;
      const basis = !chosen.years && run?.basis === 'reconstructed' ? [' · ', reconstructed()] : [];
      element.replaceChildren(factsText(loaded.series, runs, until), ...basis);
    },
  };
};

/** @param {Loaded['series']} series @param {HTMLElement} facts */
const originOf = (series, facts) => ({
  source: series?.source,
  credits: () => [
    ...(series ? [creditOf(series)] : []),
    facts.textContent ?? '',
    ...(series?.notes ? [series.notes] : []),
    location.href,
  ],
});

const emptyView = () => ({
  title: 'Markets',
  content: [
    h(
      'p',
      { class: 'notice' },
      'The dataset has no markets yet. The operator of the service adds them with ',
      h('code', 'metro-forecast import'),
      '.',
    ),
  ],
});

/** @param {Choices} chosen */
const keepChoices = ({ q, state, signal, grade, colour, years }) =>
  keepInAddress({
    ...{ q, state, signal, grade },
    colour: colour === 'forecast' ? null : colour,
    maps: years ? 'years' : null,
  });

/** @param {Loaded['runs']} runs @param {Choices} chosen @param {ReturnType<typeof rowsByRun>} rowsOf */
const runLoader = (runs, chosen, rowsOf) => async (/** @type {AbortSignal} */ shown) => {
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  shown.throwIfAborted();
  keepInAddress({ run: chosen.run === runs.length - 1 ? null : String(runs[chosen.run]?.id) });
  return rowsOf(chosen.run);
};

/** @type {import('../../../../../core/pages/data-views/router.js').Route} */
export const marketsView = async (_parameters, signal, query) => {
  // Starts loading the outlines of the map while the markets load. `load` awaits the outlines and reports errors.
  outlines().catch(() => undefined);
  const markets = await allMarkets();
  return markets.length === 0 ? emptyView() : viewOf(await load(markets, signal), signal, query);
};

/** @param {Loaded} loaded @param {Choices} chosen @param {readonly Row[]} shown */
const titleOf = (loaded, chosen, shown) => {
  const isNewest = chosen.run === loaded.runs.length - 1;
  return findingOf(shown, { ...selectedRun(loaded, chosen), measure: chosen.colour, isNewest, chosen });
};

/**
 * Zooms the map to the selected state. The user's own zoom is kept until another state is selected.
 * @param {ReturnType<typeof marketMap>} picture @param {readonly Market[]} markets
 */
const stateZoom = (picture, markets) => {
  let shown = '';
  return (/** @type {string} */ state) => {
    if (state === shown) return;
    shown = state;
    const codes = listIn(state);
    const inState = markets.filter(({ name }) => statesOf(name).some((code) => codes.includes(code)));
    picture.frame(inState.map(({ cbsa }) => cbsa));
  };
};

/** @param {Loaded} loaded @param {AbortSignal} signal @param {URLSearchParams} query */
const viewOf = async (loaded, signal, query) => {
  const { markets, runs, series } = loaded;
  const chosen = choicesOf(query, runs);
  const forecastsOf = forecastsBy(signal);
  const rowsOf = rowsByRun(loaded, forecastsOf, signal);
  let [rows] = await Promise.all([rowsOf(chosen.run), loadZips(chosen.q)]);
  const next = latestOf(signal);
  const show = () => {
    list.show(rows);
    const { run, until } = selectedRun(loaded, chosen);
    const codes = new Set(list.rows().map(({ cbsa }) => cbsa));
    picture.show(rows, { codes, measure: chosen.colour, run, until });
    zoomTo(chosen.state);
    slider.show();
    map.update();
    facts.show();
  };
  const update = () => {
    show();
    retitle(titleOf(loaded, chosen, list.rows()), QUESTIONS[chosen.colour]);
  };
  /** @param {Partial<Choices>} change */
  const choose = (change) => {
    Object.assign(chosen, change);
    keepChoices(chosen);
    update();
  };
  const loadRun = runLoader(runs, chosen, rowsOf);
  const onrun = (/** @type {number} */ run) => {
    chosen.run = run;
    slider.show();
    facts.show();
    void showLatest(next, list.problem, loadRun, (loadedRows, shown) => {
      list.problem.replaceChildren();
      rows = loadedRows;
      list.loadSparks(shown);
      update();
    });
  };
  const facts = factsOf(loaded, chosen);
  const list = listSection(loaded, { chosen, choose, signal });
  const origin = originOf(series, facts.element);
  const picture = marketMap(loaded.map, markets, origin);
  const zoomTo = stateZoom(picture, markets);
  const slider = runSlider(runs, chosen, onrun);
  const map = mapSection({
    ...{ chosen, choose, loaded, forecastsOf, signal, picture, origin, slider: slider.element },
    onrun: (run) => {
      slider.set(run);
      choose({ years: false });
      onrun(run);
    },
  });
  const onquery = async (/** @type {string} */ q) => {
    choose({ q });
    await loadZips(q);
    if (metroOfZip(q) && chosen.q === q && !signal.aborted) choose({ q });
  };
  narrowBy(chosen.q, onquery, signal);
  list.loadSparks(next());
  show();
  return {
    title: titleOf(loaded, chosen, list.rows()),
    name: 'Markets',
    question: QUESTIONS[chosen.colour],
    layout: 'start',
    about: [facts.element],
    series: [HPI],
    content: [list.filters, map.element, list.element],
  };
};
