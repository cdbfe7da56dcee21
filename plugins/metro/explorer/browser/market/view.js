import { badge } from '../../../../../core/pages/data-views/badge.js';
import { getJson, Problem } from '../../../../../core/pages/shared/api.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { day, moveOf, PAST_MOVES, percent, quarter } from '../../../../../core/pages/shared/format.js';
import { markOf } from '../basis.js';
import { allAreas, catalog, HPI } from '../catalog.js';
import { driversOf } from '../drivers.js';
import { indexSeriesOf, recordsBy } from '../index-data.js';
import { keyFigures } from '../key-figures.js';
import { addMonths } from '../market-figures.js';
import { marketLink, plainName } from '../search.js';
import { indexFigure } from './index-figure.js';
import { neighboursOf } from './neighbours.js';
import { reasonsOf } from './reasons.js';
import { trackFigure } from './track-figure.js';

/** @import { ForecastTrack as Track } from '../../../client/api-types.js' */
/** @import { Context } from './context.js' */

/**
 * @typedef {Required<import('../../../client/api-types.js').Market>} Market
 * @typedef {{ id: number, vintage: string | null, rules: import('../grades.js').Rules | null }} Run
 */

/** @param {string} cbsa @param {AbortSignal} signal @param {URLSearchParams} query */
const load = async (cbsa, signal, query) => {
  const path = `/markets/${encodeURIComponent(cbsa)}`;
  const [areas, market, { data: history }, { data: track }, { data: runs }, grades, signals, drivers] =
    await Promise.all([
      allAreas(),
      ...[path, `${path}/history`, `${path}/forecast-track`, '/forecast-runs'].map((target) =>
        getJson(target, { signal }),
      ),
      recordsBy('grade'),
      recordsBy('signal'),
      driversOf(cbsa, signal),
      catalog(),
    ]);
  const series = await indexSeriesOf(market);
  const newest = market.forecast_12m === null ? undefined : /** @type {Track | undefined} */ (track.at(-1));
  const run = /** @type {Run[]} */ (runs).find(({ id }) => id === newest?.run_id);
  const context = { market, history, track, newest, series, signal, query };
  return { context, run, records: [...grades, ...signals], drivers, areas };
};

/** @param {Awaited<ReturnType<typeof load>>} loaded */
const placeOf = ({ context: { market }, areas }) => {
  const area = areas.find(({ cbsa }) => cbsa === market.cbsa);
  const parent = area?.parent && areas.find(({ cbsa }) => cbsa === area.parent);
  return h(
    'p',
    { class: 'muted' },
    market.kind === 'state' || market.kind === 'nation' ? '' : `CBSA ${market.cbsa} · `,
    parent
      ? `a division of the metropolitan area ${parent.name} · `
      : /MSAD/.test(market.name)
        ? 'a division of a metropolitan area (MSAD) · '
        : '',
    h('a', { href: '#/markets' }, 'All markets'),
  );
};

/** @param {Awaited<ReturnType<typeof load>>} loaded */
const aboutMarket = ({ context: { newest, series }, run }) => [
  ...(series ? [series.title] : []),
  newest && run
    ? [`run of ${day(newest.run_at)} by ${newest.model_version}`, ...markOf(newest.basis)]
    : 'no current forecast',
  ...(run?.vintage ? [`vintage of ${run.vintage}`] : []),
];

/** @param {Context & { market: Market }} context */
const findingOf = ({ market: { name, yoy_price, forecast_12m }, newest, history }) => {
  const place = plainName(name);
  const last = history.at(-1);
  if (newest && forecast_12m !== null)
    return `${place}: house prices are expected to ${moveOf(forecast_12m, ['fall', 'stay the same', 'rise'])} by ${quarter(newest.target_period)}`;
  if (last && yoy_price !== null)
    return `${place}: house prices ${moveOf(yoy_price, PAST_MOVES)} in the year to ${quarter(last.period_start)}`;
  return place;
};

/** @param {Context & { market: Market }} context */
const figuresOf = ({ market, history, newest }) => {
  const start = newest && addMonths(newest.target_period, -newest.horizon_months);
  const last = history.at(-1);
  /** @type {import('../key-figures.js').KeyFigure} */
  const past = ['Last 12 months', percent(market.yoy_price), last && `to ${quarter(last.period_start)}`];
  if (!newest || !start) return keyFigures([past]);
  return keyFigures([
    ['Forecast, 12 months', percent(market.forecast_12m), `${quarter(start)} to ${quarter(newest.target_period)}`],
    past,
    ['Signal', badge(market.signal), 'expand, hold or contract'],
    ['Risk grade', badge(market.risk_score), 'A low, F high'],
    [
      '80% band',
      newest.lower_80 === null ? '–' : `${percent(newest.lower_80)}\u00a0to ${percent(newest.upper_80)}`,
      'four out of five outcomes over many years, far fewer in some years',
    ],
  ]);
};

/** @param {string} cbsa */
const dividedView = async (cbsa) => {
  const areas = await allAreas();
  const divisions = areas.filter(({ parent, has_index }) => parent === cbsa && has_index);
  if (divisions.length === 0) return undefined;
  const name = areas.find((area) => area.cbsa === cbsa)?.name ?? cbsa;
  return {
    title: `${name} has an index only for its divisions`,
    name,
    question: 'Which parts of this metro have an index and a forecast?',
    series: [HPI],
    content: [h('ul', ...divisions.map((area) => h('li', marketLink(area.cbsa, area.name))))],
  };
};

/** @type {import('../../../../../core/pages/data-views/router.js').Route} */
export const marketView = async ([cbsa = ''], signal, query) => {
  let loaded;
  try {
    loaded = await load(cbsa, signal, query);
  } catch (error) {
    const divided = error instanceof Problem && error.code === 'market_not_found' && (await dividedView(cbsa));
    if (divided) return divided;
    throw error;
  }
  const { context, run, records, drivers, areas } = loaded;
  const reasons = context.newest ? reasonsOf(context.newest, run?.rules ?? null, records) : [];
  return {
    title: findingOf(context),
    name: plainName(context.market.name),
    question: 'How have house prices moved here, and what does the model expect?',
    about: aboutMarket(loaded),
    series: [context.series?.series_id ?? HPI],
    content: [
      placeOf(loaded),
      figuresOf(context),
      indexFigure(context),
      h(
        'div',
        { class: 'reasons' },
        reasons.length > 0
          ? h('section', h('h2', 'What the signal and the grade mean'), ...reasons.map((text) => h('p', text)))
          : null,
        drivers,
      ),
      trackFigure(context),
      neighboursOf(areas, cbsa),
    ],
  };
};
