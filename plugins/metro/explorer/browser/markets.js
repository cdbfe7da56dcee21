/** The start page: a map of all markets and the list beside it, at any run of the model. */
import { addressOf, keepInAddress } from '../../../pages/data-views/address.js';
import { badge } from '../../../pages/data-views/badge.js';
import { choice, labelledSelect } from '../../../pages/data-views/controls.js';
import { csvOf } from '../../../pages/data-views/csv.js';
import { replaceTools } from '../../../pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../pages/data-views/latest.js';
import { narrowBy } from '../../../pages/data-views/search-field.js';
import { column, dataTable, numbers } from '../../../pages/data-views/table.js';
import { getJson } from '../../../pages/shared/api.js';
import { h } from '../../../pages/shared/dom.js';
import { day, number, percent, points, quarter, share } from '../../../pages/shared/format.js';
import { allMarkets, HPI, places, seriesOf } from './catalog.js';
import { marketCalls } from './data-calls.js';
import { limitsOf, recordOf } from './grades.js';
import { allIndexes, gradeRecords } from './index-data.js';
import { metroMap, outlines } from './map.js';
import { addMonths, quartersBetween } from './market-figures.js';
import { onceEach } from './once.js';
import { scaleOf, swatchOf } from './scales.js';
import { plainName, STATES, searcher, statesOf } from './search.js';
import { sparkLine } from './spark-line.js';

/**
 * @typedef {import('../../client/api-types.js').Market} Market
 * @typedef {import('../../client/api-types.js').AreaForecastTrack} Forecast
 * @typedef {{ cbsa: string, name: string, signal: string | null, grade: string | null, forecast: number | null,
 *   lower: number | null, upper: number | null, change: number | null, last: number | null }} Row
 * @typedef {{ id: number, run_at: string, model_version: string, vintage: string | null, target: string,
 *   rules: import('./grades.js').Limits | null }} Run
 */

/** @param {string} cbsa @param {string} name */
export const marketLink = (cbsa, name) => h('a', { href: `#/markets/${cbsa}` }, plainName(name));

/** How far back the lines of the list go, in months. */
const SPARK_MONTHS = 60;

/** The runs with the quarter that each forecasts, oldest first. @param {AbortSignal} signal @param {readonly Market[]} markets */
const runsOf = async (signal, markets) => {
  const scored = markets.find(({ forecast_12m }) => forecast_12m !== null);
  if (!scored) return [];
  const [runs, track] = await Promise.all([
    getJson('/forecast-runs', { signal }),
    // The list of runs does not say which quarter each forecasts: the runs' own forecasts of a market do.
    getJson(`/markets/${scored.cbsa}/forecast-track`, { signal }),
  ]);
  const targets = new Map(track.data.map((/** @type {Forecast} */ row) => [row.run_id, row.target_period]));
  return /** @type {Run[]} */ (
    runs.data
      .flatMap((/** @type {{ id: number }} */ run) =>
        targets.has(run.id) ? [{ ...run, target: targets.get(run.id) }] : [],
      )
      .toReversed()
  );
};

/** Forecasts of one run by market, asked once. @param {AbortSignal} signal */
const forecastsBy = (signal) => {
  const once = onceEach();
  return async (/** @type {Run | undefined} */ run) => {
    if (!run) return /** @type {Map<string, Forecast>} */ (new Map());
    const target = `/forecast-track?since=${run.target}&until=${run.target}`;
    return once(run.id, async () => {
      const rows = /** @type {Forecast[]} */ ((await getJson(target, { signal })).data);
      return new Map(rows.filter(({ run_id }) => run_id === run.id).map((row) => [row.cbsa, row]));
    });
  };
};

/** @type {readonly (readonly [import('./scales.js').Measure, string])[]} */
const MEASURES = [
  ['forecast', 'Forecast'],
  ['grade', 'Grade'],
  ['signal', 'Signal'],
  ['last', 'Last year'],
];

/**
 * @param {string} name of the query @param {string} label @param {readonly (readonly [string, string])[]} options
 * @param {string} value @param {(value: string) => void} onchange
 */
const filter = (name, label, options, value, onchange) =>
  h('div', {}, ...labelledSelect(`by-${name}`, label, [['', 'All'], ...options], value, onchange));

/** @param {Row} row */
const band = ({ lower, upper }) =>
  lower === null ? null : h('small', { class: 'muted' }, `${number(lower, 1)} to ${number(upper, 1)}`);

/** @type {import('../../../pages/data-views/router.js').Route} */
export const marketsView = async (_parameters, signal, query) => {
  const outlined = outlines();
  const data = /** @type {Market[]} */ (await allMarkets());
  if (data.length === 0) {
    const advice = 'The dataset has no markets yet. Whoever runs the service brings them in with ';
    return {
      title: 'Markets',
      content: [h('p', { class: 'notice' }, advice, h('code', {}, 'metro-forecast import'), '.')],
    };
  }
  const [{ parents }, map, runs, series, records] = await Promise.all([
    places(),
    outlined,
    runsOf(signal, data),
    seriesOf(HPI),
    gradeRecords(signal),
  ]);
  const forecasts = forecastsBy(signal);
  const find = searcher(data, parents);
  const chosen = {
    q: query.get('q') ?? '',
    state: query.get('state') ?? '',
    signal: query.get('signal') ?? '',
    grade: query.get('grade') ?? '',
    colour: MEASURES.find(([name]) => name === query.get('colour'))?.[0] ?? 'forecast',
    sort: query.get('sort') ?? 'name',
    run: Math.max(0, runs.findIndex(({ id }) => String(id) === query.get('run')) + 1 || runs.length) - 1,
  };
  /** The last quarter that the run knew. */
  const knownTo = () => {
    const run = runs[chosen.run];
    return run ? addMonths(run.target, -12) : (series?.observation_end ?? '2020-01-01');
  };
  /** @type {string[]} */
  let quarters = [];
  /** @type {Map<string, Map<string, number>>} */
  let sparks = new Map();
  const fillSpark = (/** @type {HTMLElement} */ place) => {
    const values = sparks.get(place.dataset['cbsa'] ?? '');
    place.replaceChildren(sparkLine(quarters.map((date) => values?.get(date) ?? null)));
    return place;
  };

  const rowsOf = async () => {
    const run = runs[chosen.run];
    const newest = chosen.run === runs.length - 1;
    const start = run && addMonths(run.target, -12);
    const [now, before, past] = await Promise.all([
      forecasts(run),
      forecasts(runs[chosen.run - 1]),
      newest || !start ? undefined : allIndexes(signal, addMonths(start, -12), start),
    ]);
    const lastYear = (/** @type {Market} */ { cbsa, yoy_price }) => {
      if (!past || !start) return yoy_price;
      const [then, later] = [past.get(cbsa)?.get(addMonths(start, -12)), past.get(cbsa)?.get(start)];
      return then && later ? (later / then - 1) * 100 : null;
    };
    return data.map((market) => {
      const { cbsa, name } = market;
      const forecast = now.get(cbsa);
      const prior = before.get(cbsa);
      return {
        cbsa,
        name,
        // The markets' own figures are those of the newest run.
        signal: newest ? market.signal : (forecast?.signal ?? null),
        grade: newest ? market.risk_score : (forecast?.risk_score ?? null),
        forecast: newest ? market.forecast_12m : (forecast?.point ?? null),
        lower: forecast?.lower_80 ?? null,
        upper: forecast?.upper_80 ?? null,
        change: forecast && prior ? forecast.point - prior.point : null,
        last: lastYear(market),
      };
    });
  };
  /** @type {Row[]} */
  let rows = await rowsOf();

  const count = h('p', { class: 'count muted', role: 'status' });
  const table = dataTable({
    caption: 'Markets, their 12-month forecasts, signals and risk grades.',
    columns: /** @type {import('../../../pages/data-views/table.js').Column<Row>[]} */ ([
      { label: 'Market', key: 'name', cell: ({ cbsa, name }) => marketLink(cbsa, name), value: ({ name }) => name },
      {
        label: 'Forecast',
        cell: (row) => [h('b', {}, percent(row.forecast)), band(row)],
        value: ({ forecast }) => forecast,
        numeric: true,
      },
      numbers('Last year', ({ last }) => last, percent, { key: 'last' }),
      numbers('Change', ({ change }) => change, points, { hint: 'Of the forecast, from that of the run before' }),
      column('Grade', ({ grade }) => grade, badge),
      column('Signal', (row) => row.signal, badge),
      { label: 'Five years', name: 'spark', cell: ({ cbsa }) => fillSpark(h('span', { 'data-cbsa': cbsa })) },
    ]),
    // Filled below, with those that the reader's filters leave.
    rows: [],
    sort: chosen.sort,
    onsort: (sort) => {
      chosen.sort = sort;
      keepInAddress({ sort });
      showTools();
    },
    scrolls: true,
  });

  /** Draws the lines of the list when they are here: the largest call of the page is not waited for. */
  const loadSparks = (/** @type {AbortSignal} */ shown) => {
    quarters = quartersBetween(addMonths(knownTo(), -SPARK_MONTHS), knownTo());
    sparks = new Map();
    allIndexes(signal, quarters[0], knownTo()).then(
      (found) => {
        if (shown.aborted) return;
        sparks = found;
        for (const place of table.element.querySelectorAll('.spark span'))
          fillSpark(/** @type {HTMLElement} */ (place));
      },
      () => undefined,
    );
  };

  const rowOf = () => new Map(rows.map((row) => [row.cbsa, row]));
  const picture = metroMap({
    outlines: map,
    label: 'Map of the markets, coloured by the figure chosen.',
    codes: data.map(({ cbsa }) => cbsa),
    describe: (cbsa) => {
      const row = rowOf().get(cbsa);
      if (!row) return [];
      const range = row.lower === null ? '' : ` (${number(row.lower, 1)} to ${number(row.upper, 1)})`;
      return [
        h('strong', {}, plainName(row.name)),
        `Forecast ${percent(row.forecast)}${range}`,
        `Grade ${row.grade ?? '–'}, ${row.signal ?? 'no signal'}`,
        `Last year ${percent(row.last)}`,
      ];
    },
    onpick: (cbsa) => {
      location.hash = `#/markets/${cbsa}`;
    },
  });
  const key = h('ul', { class: 'legend' });

  const tools = h('div');
  const csv = () => {
    const run = runs[chosen.run];
    return csvOf([
      [
        ...['cbsa', 'name', 'forecast_12m_percent', 'lower_80_percent', 'upper_80_percent', 'last_12_months_percent'],
        ...['change_from_run_before_pp', 'grade', 'signal', 'target_period', 'run_at', 'model_version'],
      ],
      ...table
        .rows()
        .map((row) => [
          ...[row.cbsa, plainName(row.name), row.forecast, row.lower, row.upper, row.last, row.change, row.grade],
          ...[row.signal, run?.target, run?.run_at, run?.model_version],
        ]),
    ]);
  };
  const showTools = () => {
    const run = runs[chosen.run];
    const past = chosen.run < runs.length - 1 ? run?.target : undefined;
    const { targets, remark } = marketCalls(chosen, past);
    replaceTools(tools, {
      sources: targets.map((target) => ({ label: 'markets', target, file: 'markets' })),
      remark,
      more: h('a', { href: '#/data' }, 'All the data'),
      shown: { file: `markets${past ? `-run-${day(run?.run_at ?? null)}` : ''}.csv`, text: csv },
    });
  };
  const meaning = h('p', { class: 'meaning muted' });
  /** What a grade means, or each of them where none is chosen. */
  const sayGrades = () => {
    const { grade, colour } = chosen;
    const rules = runs[chosen.run]?.rules;
    const one = (/** @type {string} */ each) =>
      [rules && `${each} stands for a decline with a probability of ${limitsOf(rules, each)}.`, recordOf(records, each)]
        .filter(Boolean)
        .join(' ');
    const each = [...'ABCDF'].flatMap((letter) => {
      const record = records.find(({ group }) => group === letter);
      const limits = rules ? limitsOf(rules, letter) : '';
      return limits ? [`${letter} ${limits}${record ? ` (${share(record.decline_share)})` : ''}`] : [];
    });
    const all = `Probability of a decline by grade, and in brackets the share of past forecasts that declined: ${each.join(', ')}.`;
    meaning.textContent = grade !== '' ? one(grade) : colour === 'grade' && each.length > 0 ? all : '';
    meaning.hidden = meaning.textContent === '';
  };

  const show = () => {
    const { q, state, signal: wanted, grade, colour } = chosen;
    const found = new Set(find(q).map(({ cbsa }) => cbsa));
    const shown = rows.filter(
      (row) =>
        found.has(row.cbsa) &&
        (state === '' || statesOf(row.name).includes(state)) &&
        (wanted === '' || row.signal === wanted) &&
        (grade === '' || row.grade === grade),
    );
    const outside = rows.filter(({ cbsa }) => found.has(cbsa)).length;
    table.show(shown);
    showTools();
    sayGrades();
    const codes = new Set(shown.map(({ cbsa }) => cbsa));
    const scale = scaleOf(
      colour,
      rows.map((row) => row[colour]),
    );
    const byCode = rowOf();
    picture.colour((cbsa) => ({
      color: scale.colorOf(byCode.get(cbsa)?.[colour] ?? null),
      faint: !codes.has(cbsa),
    }));
    key.replaceChildren(...scale.steps.map(({ color, label }) => h('li', {}, swatchOf(color), label)));
    count.replaceChildren(
      ...(shown.length === 0
        ? [
            q !== '' && outside > 0
              ? `${outside} found, outside of the other filters: choose less, or `
              : 'No market has all of this. Ask for less, or ',
            h(
              'a',
              { href: addressOf(['markets'], outside > 0 ? new URLSearchParams({ q }) : undefined) },
              'clear the filters',
            ),
            '.',
          ]
        : [shown.length === rows.length ? `${rows.length} markets` : `${shown.length} of ${rows.length} markets`]),
    );
  };

  const facts = h('p', { class: 'facts muted' });
  const output = h('output', { for: 'run' });
  const sayRun = () => {
    const run = runs[chosen.run];
    const adjusted = series?.seasonal_adjustment === 'NSA' ? ', not seasonally adjusted' : '';
    output.textContent = run
      ? `Data to ${quarter(addMonths(run.target, -12))}, forecast for ${quarter(run.target)}`
      : '';
    facts.textContent = [
      series && `${series.title}: ${series.units}${adjusted}, up to ${quarter(knownTo())}`,
      run && `run of ${day(run.run_at)} by ${run.model_version}`,
      run?.vintage && `vintage of ${run.vintage}`,
    ]
      .filter(Boolean)
      .join(' · ');
  };
  /** @param {Partial<typeof chosen>} change */
  const choose = (change) => {
    Object.assign(chosen, change);
    const { q, state, signal: wanted, grade, colour } = chosen;
    keepInAddress({ q, state, signal: wanted, grade, colour: colour === 'forecast' ? null : colour });
    show();
  };
  const slider = h('input', {
    id: 'run',
    type: 'range',
    min: 0,
    max: Math.max(0, runs.length - 1),
    value: chosen.run,
    disabled: runs.length < 2,
  });
  const problem = h('div');
  const next = latestOf(signal);
  /** @param {AbortSignal} shown */
  const loadRun = async (shown) => {
    await new Promise((resolve) => setTimeout(resolve, 120));
    shown.throwIfAborted();
    keepInAddress({ run: chosen.run === runs.length - 1 ? null : String(runs[chosen.run]?.id) });
    return rowsOf();
  };
  const showRun = () =>
    showLatest(next, problem, loadRun, (loaded, shown) => {
      rows = loaded;
      problem.replaceChildren();
      loadSparks(shown);
      show();
    });
  slider.addEventListener('input', () => {
    chosen.run = Number(slider.value);
    sayRun();
    void showRun();
  });
  narrowBy(chosen.q, (q) => choose({ q }), signal);
  sayRun();
  loadSparks(next());
  show();

  const states = [...new Set(data.flatMap(({ name }) => statesOf(name)))].sort();
  return {
    title: 'Markets',
    layout: 'start',
    aside: [facts],
    series: [HPI],
    content: [
      h(
        'section',
        { class: 'place', 'aria-label': 'Map' },
        choice({
          legend: 'Colour by',
          name: 'colour',
          choices: MEASURES,
          value: chosen.colour,
          onchange: (colour) => choose({ colour }),
        }),
        picture.element,
        key,
        h('div', { class: 'time' }, h('label', { for: 'run' }, 'Run of the model'), slider, output),
      ),
      h(
        'section',
        { class: 'list', 'aria-label': 'List' },
        h(
          'div',
          { class: 'row filters' },
          filter(
            'state',
            'State',
            states.map((code) => [code, STATES.get(code) ?? code]),
            chosen.state,
            (state) => choose({ state }),
          ),
          filter(
            'signal',
            'Signal',
            ['expand', 'hold', 'contract'].map((each) => [each, each]),
            chosen.signal,
            (one) => choose({ signal: one }),
          ),
          filter(
            'grade',
            'Risk grade',
            [...'ABCDF'].map((each) => [each, each]),
            chosen.grade,
            (grade) => choose({ grade }),
          ),
          count,
        ),
        meaning,
        problem,
        table.element,
        tools,
      ),
    ],
  };
};
