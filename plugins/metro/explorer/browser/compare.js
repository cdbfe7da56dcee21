/** Up to eight metros and series on one chart; the address says which, and how they are shown. */
import { keepInAddress, listIn } from '../../../pages/data-views/address.js';
import { chart } from '../../../pages/data-views/chart.js';
import { checkBox, choice, select } from '../../../pages/data-views/controls.js';
import { linesCsv } from '../../../pages/data-views/csv.js';
import { chartFigure, linesTable } from '../../../pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../pages/data-views/latest.js';
import { h } from '../../../pages/shared/dom.js';
import { number, percent, points, quarter } from '../../../pages/shared/format.js';
import { catalog, creditOf, HPI, places, seriesOf } from './catalog.js';
import { compareCalls } from './data-calls.js';
import { indexOf, nationOf, observationsOf, PRICES, pricesOf, recessionsOf } from './index-data.js';
import { inRealTerms, quarterMeans, quartersBetween, rebased, yearlyChange } from './market-figures.js';
import { onceEach } from './once.js';
import { onlyOne, plainName, searcher, tellingName } from './search.js';

/**
 * @typedef {'rebased' | 'change' | 'nation'} Show
 * @typedef {{ id: string, kind: 'm' | 's', label: string, short: string, values: Map<string, number>, money: boolean }} Member
 */

const MOST = 8;
/** How many are offered where a name has several meanings. */
const OFFERED = 8;

/** @type {readonly (readonly [Show, string])[]} */
const SHOWS = [
  ['rebased', 'Start = 100'],
  ['change', 'Yearly change'],
  ['nation', 'Difference to the nation'],
];

/** Values that prices change, so that real terms mean something. @param {string} units */
const isMoney = (units) => /dollar/i.test(units) && !/chained/i.test(units);

/**
 * @param {import('./catalog.js').Named} market @param {readonly import('./catalog.js').Named[]} all
 * @param {AbortSignal} signal @returns {Promise<Member>}
 */
const metro = async ({ cbsa: id, name }, all, signal) => {
  const values = await indexOf(id, signal);
  return { id, kind: 'm', label: plainName(name), short: tellingName(name, all), values, money: true };
};

/** @param {import('./catalog.js').Series} series @param {AbortSignal} signal @returns {Promise<Member>} */
const macro = async ({ series_id: id, title, units }, signal) => {
  const values = quarterMeans(await observationsOf(id, signal));
  return { id, kind: 's', label: `${title} (${id})`, short: id, values, money: isMoney(units) };
};

/** @type {import('../../../pages/data-views/router.js').Route} */
export const compareView = async (_parameters, signal, query) => {
  const chosen = {
    m: listIn(query.get('m')),
    s: listIn(query.get('s')),
    show: SHOWS.find(([each]) => each === query.get('show'))?.[0] ?? 'rebased',
    real: query.get('real') === '1',
    from: query.get('from') ?? '2008',
  };
  const [{ markets, parents }, all, series, recessions] = await Promise.all([
    places(),
    catalog(),
    seriesOf(HPI),
    recessionsOf(signal),
  ]);
  // An address without members shows two markets as an example, which the first one that is added replaces.
  let example = chosen.m.length + chosen.s.length === 0;
  if (example) chosen.m = markets.slice(0, 2).map(({ cbsa }) => cbsa);
  const macros = all.filter(({ kind }) => kind === 'macro');
  const find = searcher(markets, parents);
  const marketBy = new Map(markets.map((market) => [market.cbsa, market]));
  const macroBy = new Map(macros.map((one) => [one.series_id, one]));
  const missing = [
    ...chosen.m.filter((id) => !marketBy.has(id)).map((id) => `market ${id}`),
    ...chosen.s.filter((id) => !macroBy.has(id)).map((id) => `series ${id}`),
  ];
  chosen.m = chosen.m.filter((id) => marketBy.has(id));
  chosen.s = chosen.s.filter((id) => macroBy.has(id));
  const once = onceEach();
  const members = () => {
    const asks = [
      ...chosen.m.flatMap((id) => marketBy.get(id) ?? []).map((one) => () => metro(one, markets, signal)),
      ...chosen.s.flatMap((id) => macroBy.get(id) ?? []).map((one) => () => macro(one, signal)),
    ];
    const ids = [...chosen.m, ...chosen.s];
    return Promise.all(asks.slice(0, MOST).map((ask, index) => once(`${ids[index]}`, ask)));
  };
  /** The series of the nation, where the chart shows the difference to it. @type {string | undefined} */
  let nationSource;
  const next = latestOf(signal);

  /** @param {readonly Member[]} some @returns {Promise<import('../../../pages/data-views/drawing.js').ChartOptions>} */
  const optionsOf = async (some) => {
    const start = `${chosen.from}-01-01`;
    const nation = chosen.show === 'nation' ? await nationOf(signal) : undefined;
    nationSource = nation?.source;
    const prices = chosen.real && !nation ? await pricesOf(signal) : undefined;
    const made = some.map(({ values, money, ...rest }) => {
      const real = prices && money ? inRealTerms(values, prices).values : values;
      if (chosen.show === 'rebased') return { ...rest, values: rebased(real, start) };
      const changes = yearlyChange(real);
      if (!nation) return { ...rest, values: changes };
      return {
        ...rest,
        values: new Map(
          [...yearlyChange(values)].flatMap(([date, value]) => {
            const of = nation.changes.get(date);
            return of === undefined ? [] : [[date, value - of]];
          }),
        ),
      };
    });
    const known = made.flatMap(({ values }) => [...values.keys()]).sort();
    const dates = known.length > 0 ? quartersBetween(`${known[0]}`, `${known.at(-1)}`) : [];
    const first = dates.find((date) => date >= start);
    // Consumer prices come later than the index, so that real terms may end a quarter before it.
    const adjusted =
      prices && known.length > 0 ? `, adjusted for consumer prices up to ${quarter(`${known.at(-1)}`)}` : '';
    const unit = {
      rebased: `${first ? quarter(first) : chosen.from} = 100${adjusted}`,
      change: `Percent over four quarters${adjusted}`,
      nation: `Percentage points above or below: ${nation?.label}`,
    }[chosen.show];
    return {
      label: `${made.map(({ short }) => short).join(', ')}: ${unit}.`,
      unit,
      dates,
      ...(first === undefined ? {} : { from: first }),
      lines: made.map(({ label, short, values }, index) => ({
        label,
        short,
        color: `line-${index + 1}`,
        values: dates.map((date) => values.get(date) ?? null),
      })),
      shades: recessions,
      dateText: quarter,
      valueText: { rebased: (/** @type {number} */ value) => number(value, 1), change: percent, nation: points }[
        chosen.show
      ],
    };
  };

  const place = h('div');
  const chips = h('ul', { class: 'chips', 'aria-label': 'Compared' });
  const figure = h('div');
  const keep = () =>
    keepInAddress({
      m: chosen.m.join(','),
      s: chosen.s.join(','),
      show: chosen.show === 'rebased' ? null : chosen.show,
      real: chosen.real ? '1' : null,
      from: chosen.from,
    });
  const load = async () => {
    const some = await members();
    return { some, made: await optionsOf(some) };
  };
  const show = () =>
    showLatest(next, figure, load, ({ some, made }, shown) => {
      chips.replaceChildren(
        ...some.map(({ id, kind, label }) =>
          h(
            'li',
            {},
            label,
            h(
              'button',
              { type: 'button', class: 'quiet', 'aria-label': `Remove ${label}`, onclick: () => remove(kind, id) },
              '×',
            ),
          ),
        ),
      );
      place.replaceChildren(
        made.lines.length > 0 ? chart(made, shown) : h('p', { class: 'notice' }, 'Add a market or a series above.'),
      );
      // In the difference to the nation consumer prices cancel out.
      real.box.disabled = chosen.show === 'nation';
      const calls = compareCalls({
        ...chosen,
        nation: nationSource,
        money: some.filter(({ kind, money }) => kind === 's' && money).map(({ id }) => id),
      });
      figure.replaceChildren(
        chartFigure({
          title: some.map(({ short }) => short).join(', '),
          note: `${made.unit}.${chosen.s.length > 0 ? ' Monthly and daily series are means of quarters.' : ''}`,
          chart: place,
          sources: calls.targets.map((target) => ({ label: 'observations', target, file: 'observations' })),
          remark: calls.remark,
          table: linesTable(made, 'Quarter'),
          shown: {
            file: 'comparison.csv',
            text: () => linesCsv(made, 'date'),
          },
          picture: {
            // Its unit stands above its axis.
            title: `${chosen.s.length === 0 ? 'House prices: ' : ''}${some.map(({ short }) => short).join(', ')}`,
            file: 'comparison',
            options: () => made,
            credits: () => [
              [
                ...(chosen.m.length > 0 && series ? [series] : []),
                ...macros.filter(
                  ({ series_id }) => chosen.s.includes(series_id) || (chosen.real && series_id === PRICES),
                ),
              ]
                .map(creditOf)
                .join('; '),
              ...(series?.notes ? [series.notes] : []),
              location.href,
            ],
          },
        }),
      );
    });
  /** @param {Partial<typeof chosen>} change */
  const choose = (change) => {
    Object.assign(chosen, change);
    keep();
    return show();
  };
  const remove = (/** @type {'m' | 's'} */ kind, /** @type {string} */ id) => {
    example = false;
    void choose({ [kind]: chosen[kind].filter((one) => one !== id) });
  };

  const leftOut = missing.map((what) => `There is no ${what}: it is left out.`).join(' ');
  const problem = h('span', { class: 'problem', role: 'alert' }, leftOut);
  const which = h('div', { class: 'row', role: 'group', 'aria-label': 'Markets found' });
  const clear = () => {
    problem.textContent = '';
    which.replaceChildren();
    field.value = '';
  };
  const field = h('input', { id: 'add', list: 'addable', autocomplete: 'off', placeholder: 'Austin, TX or UNRATE' });
  /** @param {Event} event */
  const add = (event) => {
    event.preventDefault();
    const text = field.value.trim();
    const macro = macros.find(({ series_id }) => series_id.toLowerCase() === text.replace(/ .*/, '').toLowerCase());
    const found = macro ? [] : find(text);
    const market = found.find(({ name }) => plainName(name) === text) ?? onlyOne(text, found);
    problem.textContent = '';
    which.replaceChildren();
    if (text === '') return;
    const [m, s] = example ? [[], []] : [chosen.m, chosen.s];
    const addTo = (/** @type {Partial<typeof chosen>} */ more) => {
      example = false;
      void choose({ m, s, ...more });
    };
    if (m.length + s.length >= MOST) problem.textContent = `${MOST} at most: remove one first.`;
    else if (macro && !s.includes(macro.series_id)) addTo({ s: [...s, macro.series_id] });
    else if (market && !m.includes(market.cbsa)) addTo({ m: [...m, market.cbsa] });
    else if (macro || market) problem.textContent = 'It is there already.';
    else if (found.length === 0) problem.textContent = 'There is no such market or series.';
    else {
      problem.textContent =
        found.length > OFFERED ? `Which of ${found.length}? The first ${OFFERED}:` : `Which of ${found.length}?`;
      which.replaceChildren(
        ...found.slice(0, OFFERED).map(({ cbsa, name }) => {
          const take = () => {
            addTo({ m: m.includes(cbsa) ? m : [...m, cbsa] });
            clear();
            field.focus();
          };
          return h('button', { type: 'button', class: 'quiet', onclick: take }, plainName(name));
        }),
      );
    }
    if (problem.textContent === '') clear();
  };
  const years = [];
  for (
    let year = Number(series?.observation_start?.slice(0, 4) ?? 1975);
    year <= Number(series?.observation_end?.slice(0, 4) ?? 2025);
    year += 1
  ) {
    years.push(String(year));
  }
  if (!years.includes(chosen.from)) chosen.from = `${years[0] ?? chosen.from}`;
  const real = checkBox('real', 'Real terms', chosen.real, (checked) => void choose({ real: checked }));
  await show();
  return {
    title: 'Compare',
    series: [HPI],
    content: [
      h(
        'form',
        { class: 'row', onsubmit: add },
        h('div', {}, h('label', { for: 'add' }, 'Add a market or a series'), field),
        h(
          'datalist',
          { id: 'addable' },
          ...markets.map(({ name }) => h('option', { value: plainName(name) })),
          ...macros.map(({ series_id, title }) => h('option', { value: `${series_id} ${title}` })),
        ),
        h('button', { type: 'submit' }, 'Add'),
        problem,
        which,
      ),
      chips,
      h(
        'div',
        { class: 'switches' },
        choice({
          legend: 'Show',
          name: 'show',
          choices: SHOWS,
          value: chosen.show,
          onchange: (one) => void choose({ show: one }),
        }),
        real.element,
        select(
          'from',
          'Since',
          years.map((year) => [year, year]),
          chosen.from,
          (from) => void choose({ from }),
        ),
      ),
      figure,
    ],
  };
};
