import { keepInAddress } from '../../../../pages/data-views/address.js';
import { replaceTools } from '../../../../pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../../pages/data-views/latest.js';
import { retitle } from '../../../../pages/data-views/router.js';
import { narrowBy } from '../../../../pages/data-views/search-field.js';
import { h } from '../../../../pages/shared/dom.js';
import { reconstructed } from '../basis.js';
import { allMarkets, creditOf, HPI, places, seriesOf } from '../catalog.js';
import { recordsBy } from '../index-data.js';
import { searcher } from '../search.js';
import { loadZips, metroOfZip } from '../zip-codes.js';
import { toolsOf } from './downloads.js';
import { choicesOf, countOf, DEFAULT_SORT, filterFields, matches, runSlider, sortField } from './filters.js';
import { marketList } from './list.js';
import { outlines } from './map.js';
import { marketMap } from './picture.js';
import { mapSection } from './place.js';
import { forecastsBy, lastQuarterOf, rowsByRun, runsOf } from './runs.js';
import { factsText, findingOf, gradesText, mapTitle, QUESTIONS, wholeState } from './texts.js';

/** @import { Choices } from './filters.js' */
/** @import { Market, Row } from './runs.js' */

/** @typedef {Awaited<ReturnType<typeof load>>} Loaded */

/** How long the slider must stay still before the selected run is loaded, in milliseconds. */
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

/** @param {Loaded['series']} series @param {HTMLElement} facts */
const originOf = (series, facts) => ({
  source: series ? `Source: ${series.source}` : '',
  credits: () => [
    ...(series ? [creditOf(series)] : []),
    facts.textContent ?? '',
    ...(series?.notes ? [series.notes] : []),
    location.href,
  ],
});

/** @param {Loaded} loaded @param {Choices} chosen @param {AbortSignal} signal */
const partsOf = ({ markets, map, runs, series, records, find }, chosen, signal) => {
  /** @type {readonly Row[]} */
  let rows = [];
  const showTools = () =>
    replaceTools(tools, { ...toolsOf(chosen, runs, list.rows), title: mapTitle(chosen.colour, run(), until()) });
  const onsort = (/** @type {string} */ sort) => {
    chosen.sort = sort;
    keepInAddress({ sort: sort === DEFAULT_SORT ? null : sort });
    sorts.show(sort);
    showTools();
  };
  const onwhole = () => keepInAddress({ rows: 'all' });
  const list = marketList({ sort: chosen.sort, whole: chosen.all, onsort, onwhole });
  const sorts = sortField(chosen, (sort) => {
    list.sortBy(sort);
    onsort(sort);
  });
  const [tools, facts] = [h('div'), h('span')];
  const count = h('p', { class: 'count muted', role: 'status' });
  const meaning = h('p', { class: 'meaning muted' });
  const run = () => runs[chosen.run];
  const until = () => {
    const now = run();
    return now ? lastQuarterOf(now) : (series?.observation_end ?? '2020-01-01');
  };
  const origin = originOf(series, facts);
  const picture = marketMap(map, markets, origin);
  return {
    ...{ list, picture, origin, tools, facts, count, meaning, sorts: sorts.element },
    title: () => {
      const isNewest = chosen.run === runs.length - 1;
      return findingOf(list.rows(), {
        measure: chosen.colour,
        run: run(),
        isNewest,
        until: until(),
        place: wholeState(chosen),
      });
    },
    show: () => {
      const found = new Set(find(chosen.q).map(({ cbsa }) => cbsa));
      const searched = rows.filter(({ cbsa }) => found.has(cbsa));
      const shown = searched.filter((row) => matches(row, chosen));
      list.show(shown);
      showTools();
      meaning.textContent = gradesText(chosen, run(), records);
      meaning.hidden = meaning.textContent === '';
      picture.show(rows, {
        codes: new Set(shown.map(({ cbsa }) => cbsa)),
        measure: chosen.colour,
        text: mapTitle(chosen.colour, run(), until()),
      });
      count.replaceChildren(...countOf(shown.length, searched.length, rows.length, chosen.q));
    },
    showFacts: () => {
      const basis = run()?.basis === 'reconstructed' ? [' · ', reconstructed()] : [];
      facts.replaceChildren(factsText(series, run(), until()), ...basis);
    },
    /** @param {readonly Row[]} some @param {AbortSignal} shown aborted when another run is selected */
    setRows: (some, shown) => {
      rows = some;
      list.setSparkQuarters(until(), signal, shown);
    },
  };
};

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

/** @type {import('../../../../pages/data-views/router.js').Route} */
export const marketsView = async (_parameters, signal, query) => {
  // Starts loading the map in parallel with the list. `load` reports errors.
  outlines().catch(() => undefined);
  const markets = /** @type {Market[]} */ (await allMarkets());
  return markets.length === 0 ? emptyView() : viewOf(await load(markets, signal), signal, query);
};

/** @param {Loaded} loaded @param {AbortSignal} signal @param {URLSearchParams} query */
const viewOf = async (loaded, signal, query) => {
  const { markets, runs } = loaded;
  const chosen = choicesOf(query, runs);
  const forecastsOf = forecastsBy(signal);
  const rowsOf = rowsByRun(markets, runs, forecastsOf, signal);
  const [first] = await Promise.all([rowsOf(chosen.run), loadZips(chosen.q)]);
  const parts = partsOf(loaded, chosen, signal);
  const problem = h('div');
  const next = latestOf(signal);
  const show = () => {
    parts.show();
    slider.show();
    map.update();
    retitle(parts.title(), QUESTIONS[chosen.colour]);
  };
  /** @param {Partial<Choices>} change */
  const choose = (change) => {
    Object.assign(chosen, change);
    keepChoices(chosen);
    show();
  };
  const loadRun = runLoader(runs, chosen, rowsOf);
  const onrun = (/** @type {number} */ run) => {
    chosen.run = run;
    slider.show();
    parts.showFacts();
    void showLatest(next, problem, loadRun, (rows, shown) => {
      problem.replaceChildren();
      parts.setRows(rows, shown);
      show();
    });
  };
  const slider = runSlider(runs, chosen, onrun);
  const map = mapSection({
    ...{ chosen, choose, loaded, forecastsOf, signal },
    ...{ picture: parts.picture, origin: parts.origin, slider: slider.element },
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
  slider.show();
  parts.showFacts();
  parts.setRows(first, next());
  parts.show();
  map.update();
  return {
    title: parts.title(),
    name: 'Markets',
    question: QUESTIONS[chosen.colour],
    layout: 'start',
    about: [parts.facts],
    series: [HPI],
    content: [map.element, listSection(parts, { loaded, chosen, choose, problem })],
  };
};

/**
 * @param {ReturnType<typeof partsOf>} parts
 * @param {{ loaded: Loaded, chosen: Choices, choose: (change: Partial<Choices>) => void, problem: HTMLElement }} controls
 */
const listSection = (parts, { loaded, chosen, choose, problem }) =>
  h(
    'section',
    { class: 'list', 'aria-label': 'List' },
    h('div', { class: 'row filters' }, ...filterFields(loaded.markets, chosen, choose), parts.sorts, parts.count),
    parts.tools,
    parts.meaning,
    problem,
    parts.list.element,
  );
