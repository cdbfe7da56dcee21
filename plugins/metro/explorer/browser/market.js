/** A market: its figures and why they are so, its index with the forecast as a fan, and how the model did here. */
import { keepInAddress } from '../../../pages/data-views/address.js';
import { badge } from '../../../pages/data-views/badge.js';
import { chart } from '../../../pages/data-views/chart.js';
import { checkBox, choice, lastYears, spanChoice } from '../../../pages/data-views/controls.js';
import { chartFigure, dataTools } from '../../../pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../pages/data-views/latest.js';
import { column, numbers } from '../../../pages/data-views/table.js';
import { getJson } from '../../../pages/shared/api.js';
import { h } from '../../../pages/shared/dom.js';
import { day, exact, number, percent, points, quarter, share } from '../../../pages/shared/format.js';
import { creditOf, HPI, seriesOf } from './catalog.js';
import { limitsOf, recordOf } from './grades.js';
import { gradeRecords, nationOf, pricesOf, recessionsOf, stateOf } from './index-data.js';
import { addMonths, fanOf, inRealTerms, quartersBetween, scoreOf, valuesOf, yearlyChange } from './market-figures.js';
import { plainName, shortName, statesOf } from './search.js';

/**
 * @typedef {import('./market-figures.js').Track} Track
 * @typedef {import('../../client/api-types.js').Area} Area
 * @typedef {{ expand_point: number, expand_lower: number, contract_point: number, grades: number[] }} Rules
 */

/** @type {import('../../../pages/data-views/table.js').Column<Track>[]} */
const TRACK_COLUMNS = [
  column('Target', ({ target_period }) => target_period, quarter, { name: 'date' }),
  column('Run', ({ run_at }) => run_at, day, { name: 'date' }),
  numbers('Forecast %', ({ point }) => point, exact),
  { label: 'Lower 80', cell: ({ lower_80 }) => exact(lower_80), numeric: true },
  { label: 'Upper 80', cell: ({ upper_80 }) => exact(upper_80), numeric: true },
  { label: 'Came true %', cell: ({ realized }) => exact(realized), value: ({ realized }) => realized, numeric: true },
  numbers('Error pp', ({ error_pp }) => error_pp, exact, { hint: 'What came true, less the forecast' }),
];

/** @param {readonly (readonly [string, import('../../../pages/shared/dom.js').Child, (string | undefined)?])[]} figures each with a remark */
export const keyFigures = (figures) =>
  h(
    'dl',
    { class: 'figures' },
    ...figures.map(([name, value, remark]) =>
      h('div', {}, h('dt', {}, name), h('dd', {}, value, remark ? h('small', {}, remark) : null)),
    ),
  );

/**
 * Why the signal and the grade are what they are, with the thresholds of the run, and how often that grade came true.
 * @param {Track} forecast @param {Rules | null} rules @param {readonly import('./grades.js').Record[]} [records]
 */
const reasonsOf = ({ point, lower_80, signal, risk_score, decline_probability }, rules, records = []) => {
  if (!rules) return '';
  const low = lower_80 === null ? 'it has no lower bound' : `its lower bound is ${percent(lower_80)}`;
  const why =
    signal &&
    {
      expand: `the forecast of ${percent(point)} is at least ${number(rules.expand_point, 1)}%, and ${low}, above ${number(rules.expand_lower, 1)}%`,
      contract: `the forecast of ${percent(point)} is below ${number(rules.contract_point, 1)}%`,
      hold:
        point < rules.expand_point
          ? `the forecast of ${percent(point)} lies between ${number(rules.contract_point, 1)}% and ${number(rules.expand_point, 1)}%`
          : `the forecast of ${percent(point)} would do for expand, but ${low}, not above ${number(rules.expand_lower, 1)}%`,
    }[signal];
  const limits = limitsOf(rules, risk_score);
  const risk = decline_probability === null ? '' : ` of ${share(decline_probability)}`;
  return [
    why && `The signal is ${signal} because ${why}.`,
    limits &&
      `Grade ${risk_score} stands for a decline with a probability of ${limits}, as the model has it${risk && `; here${risk.slice(3)}`}.`,
    recordOf(records, risk_score),
  ]
    .filter(Boolean)
    .join(' ');
};

const NEIGHBOURS = 5;

/** The nearest markets, by their centres. @param {readonly Area[]} areas @param {string} cbsa */
const neighboursOf = (areas, cbsa) => {
  const here = areas.find((area) => area.cbsa === cbsa);
  if (!here) return [];
  const narrow = Math.cos((here.latitude * Math.PI) / 180);
  const distance = (/** @type {Area} */ { latitude, longitude }) =>
    Math.hypot(latitude - here.latitude, (longitude - here.longitude) * narrow);
  return areas
    .filter((area) => area.has_index && area.cbsa !== cbsa)
    .toSorted((a, b) => distance(a) - distance(b))
    .slice(0, NEIGHBOURS);
};

/** @type {import('../../../pages/data-views/router.js').Route} */
export const marketView = async ([cbsa = ''], signal, query) => {
  const path = `/markets/${encodeURIComponent(cbsa)}`;
  const [market, { data: history }, { data: track }, { data: runs }, { data: areas }, series, recessions, records] =
    await Promise.all([
      ...[path, `${path}/history`, `${path}/forecast-track`, '/forecast-runs', '/areas'].map((target) =>
        getJson(target, { signal }),
      ),
      seriesOf(HPI),
      recessionsOf(signal),
      gradeRecords(signal),
    ]);
  const newest = market.forecast_12m === null ? undefined : /** @type {Track | undefined} */ (track.at(-1));
  const area = areas.find((/** @type {Area} */ one) => one.cbsa === cbsa);
  const parent = area?.parent && areas.find((/** @type {Area} */ one) => one.cbsa === area.parent);
  const run = runs.find((/** @type {{ id: number }} */ { id }) => id === newest?.run_id);
  const context = { market, history, track, newest, series, recessions, signal, query };
  const neighbours = neighboursOf(areas, cbsa);
  const start = newest && addMonths(newest.target_period, -newest.horizon_months);
  return {
    title: plainName(market.name),
    series: [HPI],
    content: [
      h(
        'p',
        { class: 'muted' },
        `CBSA ${market.cbsa} · `,
        parent
          ? `a division of the metropolitan area ${parent.name} · `
          : /MSAD/.test(market.name)
            ? 'a division of a metropolitan area (MSAD) · '
            : '',
        newest && run
          ? `run of ${day(newest.run_at)} by ${newest.model_version}${run.vintage ? `, vintage of ${run.vintage}` : ''} · `
          : '',
        h('a', { href: '#/markets' }, 'All markets'),
      ),
      keyFigures([
        [
          'Forecast, 12 months',
          percent(market.forecast_12m),
          newest && start && `${quarter(start)} to ${quarter(newest.target_period)}`,
        ],
        [
          '80% band',
          newest && newest.lower_80 !== null ? `${percent(newest.lower_80)} to ${percent(newest.upper_80)}` : '–',
          'four of five outcomes',
        ],
        [
          'Last 12 months',
          percent(market.yoy_price),
          history.length > 0 ? `to ${quarter(history.at(-1).period_start)}` : undefined,
        ],
        ['Signal', badge(market.signal)],
        ['Risk grade', badge(market.risk_score), 'A low, F high'],
      ]),
      newest ? h('p', { class: 'reasons' }, reasonsOf(newest, run?.rules ?? null, records)) : null,
      indexFigure(context),
      trackFigure(context),
      neighbours.length > 0
        ? h(
            'section',
            { class: 'neighbours' },
            h('h2', {}, 'Neighbours'),
            h(
              'ul',
              { class: 'legend' },
              ...neighbours.map((one) => h('li', {}, h('a', { href: `#/markets/${one.cbsa}` }, one.name))),
            ),
            h(
              'a',
              { href: `#/compare?m=${[cbsa, ...neighbours.map((one) => one.cbsa)].join(',')}` },
              'Compare with its neighbours',
            ),
          )
        : null,
    ],
  };
};

/**
 * @typedef {{ market: { cbsa: string, name: string }, history: import('./market-figures.js').Observation[], track: Track[],
 *   newest: Track | undefined, series: import('./catalog.js').Series | undefined,
 *   recessions: { label: string, spans: [string, string][] }, signal: AbortSignal, query: URLSearchParams }} Context
 */

/** @param {Context} context */
const creditsOf = ({ series, newest }) => [
  [
    series && creditOf(series),
    newest?.vintage && `vintage of ${newest.vintage}`,
    newest && `forecast: ${newest.model_version}, run of ${day(newest.run_at)}`,
  ]
    .filter(Boolean)
    .join('; '),
  ...(series?.notes ? [series.notes] : []),
  location.href,
];

/** @type {readonly (readonly ['level' | 'change' | 'real', string])[]} */
const SHOWN = [
  ['level', 'Index'],
  ['change', 'Yearly change'],
  ['real', 'Real terms'],
];

/**
 * An index in real terms has the level of its last quarter, and no longer 100 at its base.
 * @param {string} units @param {string} last
 */
const realUnit = (units, last) =>
  `${units.replace(/,?\s*\d.*/, '')}, adjusted for consumer prices (CPIAUCSL), at prices of ${quarter(last)}`;

/** @param {Context} context */
const indexFigure = (context) => {
  const { market, history, newest, series, recessions, signal, query } = context;
  const name = plainName(market.name);
  const [firstRow, lastRow] = [history[0], history.at(-1)];
  if (!firstRow || !lastRow) return h('p', { class: 'notice' }, 'No index has been published for this market yet.');
  const index = valuesOf(history);
  const fan = fanOf(index, newest);
  const dates = quartersBetween(
    firstRow.period_start,
    fan && fan.target > lastRow.period_start ? fan.target : lastRow.period_start,
  );
  const along = (/** @type {ReadonlyMap<string, number>} */ values) => dates.map((date) => values.get(date) ?? null);
  const chosen = {
    show: SHOWN.find(([each]) => each === query.get('show'))?.[0] ?? 'level',
    years: Number(query.get('years') ?? 10),
    beside: query.get('beside') === 'nation',
  };
  const adjusted = series?.seasonal_adjustment === 'NSA' ? 'not seasonally adjusted' : '';
  const place = h('div');
  const note = h('p', { class: 'muted' });
  const next = latestOf(signal);

  /** @returns {Promise<import('../../../pages/data-views/drawing.js').ChartOptions>} */
  const optionsOf = async () => {
    const common = {
      dates,
      dateText: quarter,
      from: lastYears(dates, chosen.years),
      shades: recessions,
    };
    if (chosen.show === 'change') {
      const own = yearlyChange(index);
      const [state] = statesOf(market.name);
      const others = chosen.beside
        ? (await Promise.all([nationOf(signal), state ? stateOf(state, signal) : undefined])).filter(
            (one) => one !== undefined,
          )
        : [];
      return {
        ...common,
        label: `Change of house prices in ${name} over four quarters, in percent.`,
        unit: 'Percent, over four quarters',
        lines: [
          { label: name, short: shortName(market.name), values: along(own), color: 'actual' },
          ...others.map(({ label, changes }, at) => ({
            label,
            short: label.replace(/ \(.*/, ''),
            values: along(changes),
            color: `line-${at + 2}`,
          })),
          ...(newest && fan
            ? [{ label: 'Forecast', values: along(new Map([[fan.target, newest.point]])), color: 'accent' }]
            : []),
        ],
        ...(newest && fan && newest.lower_80 !== null && newest.upper_80 !== null
          ? {
              band: {
                label: '80% band',
                lower: along(new Map([[fan.target, newest.lower_80]])),
                upper: along(new Map([[fan.target, newest.upper_80]])),
              },
            }
          : {}),
        valueText: percent,
      };
    }
    if (chosen.show === 'real') {
      const { values, last } = inRealTerms(index, await pricesOf(signal));
      return {
        ...common,
        label: `Index of house prices in ${name}, adjusted for consumer prices.`,
        unit: last
          ? `${realUnit(series?.units ?? 'Index', last)}; the forecast is in nominal terms and not drawn`
          : 'No consumer prices (CPIAUCSL) are loaded',
        lines: [{ label: 'Index in real terms', values: along(values), color: 'actual' }],
        valueText: (value) => number(value),
      };
    }
    return {
      ...common,
      label: `Index of house prices in ${name}${fan ? ', with its forecast' : ''}.`,
      unit: [series?.units ?? 'Index', adjusted].filter(Boolean).join(', '),
      lines: [
        { label: 'Index', values: along(index), color: 'actual' },
        ...(fan ? [{ label: 'Forecast', values: along(fan.point), color: 'accent', dashed: true }] : []),
      ],
      ...(fan && fan.lower.size > 0
        ? { band: { label: '80% band', lower: along(fan.lower), upper: along(fan.upper) } }
        : {}),
      valueText: (value) => number(value),
    };
  };
  /** @type {import('../../../pages/data-views/drawing.js').ChartOptions | undefined} */
  let options;
  const show = () => {
    beside.element.hidden = chosen.show !== 'change';
    return showLatest(next, place, optionsOf, (made, shown) => {
      options = made;
      place.replaceChildren(chart(made, shown));
    });
  };
  /** @param {Partial<typeof chosen>} change */
  const choose = (change) => {
    Object.assign(chosen, change);
    keepInAddress({
      show: chosen.show === 'level' ? null : chosen.show,
      years: chosen.years === 10 ? null : String(chosen.years),
      beside: chosen.beside ? 'nation' : null,
    });
    void show();
  };
  const beside = checkBox('beside', 'Nation and state beside', chosen.beside, (checked) => choose({ beside: checked }));
  note.textContent =
    fan && newest
      ? `From ${quarter(fan.start)}, the run of ${day(newest.run_at)} expects ${percent(newest.point)} by ${quarter(newest.target_period)}. It forecasts that quarter alone: the way there is drawn straight.`
      : 'There is no current forecast for this market.';
  void show();
  const path = `/markets/${market.cbsa}`;
  return chartFigure({
    title: 'Index and forecast',
    note,
    chart: h(
      'div',
      {},
      h(
        'div',
        { class: 'switches' },
        choice({
          legend: 'Show',
          name: 'show',
          choices: SHOWN,
          value: chosen.show,
          onchange: (one) => choose({ show: one }),
        }),
        spanChoice(chosen.years, (years) => choose({ years })),
        beside.element,
      ),
      place,
    ),
    picture: {
      title: `House prices in ${name}`,
      file: `${market.cbsa}-index`,
      options: () => /** @type {import('../../../pages/data-views/drawing.js').ChartOptions} */ (options),
      credits: () => creditsOf(context),
    },
    sources: [
      { label: 'index', target: `${path}/history`, file: `${market.cbsa}-index` },
      { label: 'forecasts', target: `${path}/forecast-track`, file: `${market.cbsa}-forecasts` },
    ],
    table: {
      rows: history,
      columns: [column('Quarter', (row) => row.period_start, quarter), numbers('Index', ({ value }) => value, exact)],
    },
  });
};

/** @param {Context} context */
const trackFigure = (context) => {
  const { market, track, signal } = context;
  const name = plainName(market.name);
  const title = 'Past forecasts against what came true';
  const sources = [
    { label: 'forecasts', target: `/markets/${market.cbsa}/forecast-track`, file: `${market.cbsa}-forecasts` },
  ];
  const [first, last] = [track[0], track.at(-1)];
  if (!first || !last) {
    const reason = 'No run has forecast this market: its index is too short, or no forecasts have been made yet.';
    return h('section', {}, h('h2', {}, title), h('p', {}, reason), dataTools({ sources }));
  }
  const { due, meanError, inside } = scoreOf(track);
  const note =
    due === 0
      ? 'None has come due yet.'
      : `${due} came due: off by ${points(meanError).replace('+', '')} on average, ${share(inside)} inside the 80% band.`;
  const later = track.filter(({ basis }) => basis === 'reconstructed').length;
  const basis =
    later === 0 ? '' : ` ${later} of ${track.length} were reconstructed from later data: no record of what was said.`;
  // Of two runs for one quarter, the later one.
  const byTarget = new Map(track.map((row) => [row.target_period, row]));
  const targets = [...byTarget.keys()].sort();
  const dates = quartersBetween(`${targets[0]}`, `${targets.at(-1)}`);
  const values = (/** @type {(row: Track) => number | null} */ of) =>
    dates.map((date) => {
      const row = byTarget.get(date);
      return row ? of(row) : null;
    });
  /** @type {import('../../../pages/data-views/drawing.js').ChartOptions} */
  const options = {
    label: `12-month changes forecast for ${name}, and those that came true.`,
    unit: 'Percent over 12 months, by the quarter that they end in',
    dates,
    lines: [
      { label: 'Came true', values: values(({ realized }) => realized), color: 'actual' },
      { label: 'Forecast', values: values(({ point }) => point), color: 'accent', dashed: true },
    ],
    band: { label: '80% band', lower: values(({ lower_80 }) => lower_80), upper: values(({ upper_80 }) => upper_80) },
    told: { label: 'Error', values: values(({ error_pp }) => error_pp), text: points },
    dateText: quarter,
    valueText: percent,
  };
  return chartFigure({
    title,
    figure: 'forecasts',
    note: `${note}${basis}`,
    chart: chart(options, signal),
    sources,
    picture: {
      title: `${title}: ${name}`,
      file: `${market.cbsa}-forecasts`,
      options: () => options,
      // A picture leaves the page, and its caveat goes along.
      credits: () => [...(basis ? [basis.trim()] : []), ...creditsOf(context)],
    },
    table: { rows: track, columns: TRACK_COLUMNS },
  });
};
