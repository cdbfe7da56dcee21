/** The API calls that give what a view shows, and what the page has worked out beyond them. */

/**
 * @typedef {{ q: string, state: string, signal: string, grade: string, sort: string }} Asked of the list of markets
 * @typedef {{ targets: string[], remark: string }} Calls `remark`: what the calls leave to the page, empty where nothing
 */

/** Columns of the list that the API sorts by. */
const SORTS = new Map([
  ['name', 'name'],
  ['forecast', 'forecast_12m'],
  ['last', 'yoy_price'],
  ['grade', 'risk_score'],
  ['signal', 'signal'],
]);

/** @param {string} path @param {Readonly<Record<string, string | undefined>>} parameters */
const callOf = (path, parameters) => {
  const query = Object.entries(parameters).flatMap(([name, value]) =>
    value ? [`${name}=${encodeURIComponent(value).replaceAll('%2C', ',')}`] : [],
  );
  return query.length > 0 ? `${path}?${query.join('&')}` : path;
};

/**
 * @param {Asked} asked
 * @param {string} [pastTarget] first day of the quarter that an earlier run forecasts; none: the newest run
 * @returns {Calls}
 */
export const marketCalls = ({ q, state, signal, grade, sort }, pastTarget) => {
  const column = sort.replace(/^-/, '');
  if (pastTarget !== undefined) {
    return {
      targets: [callOf('/forecast-track', { since: pastTarget, until: pastTarget })],
      remark:
        'The call gives every forecast for the quarter of the run that is chosen; search, filters and sorting are of this page. “CSV: as shown” has them.',
    };
  }
  const onPage = [q.trim() !== '' && `the search for “${q.trim()}”`, !SORTS.has(column) && `sorting by ${column}`];
  const left = onPage.filter(Boolean).join(' and ');
  const sorted = SORTS.get(column);
  return {
    targets: [
      callOf('/markets', {
        state,
        signal,
        risk_score: grade,
        sort: sorted && `${sort.startsWith('-') ? '-' : ''}${sorted}`,
      }),
    ],
    remark: left && `The call leaves out ${left}, which this page does; “CSV: as shown” has it.`,
  };
};

/**
 * @param {{ m: readonly string[], s: readonly string[], show: 'rebased' | 'change' | 'nation', real: boolean, from: string,
 *   money: readonly string[], nation?: string | undefined }} chosen `money`: those of `s` that real terms apply to; `nation`:
 *   the series that the nation's changes are made from
 * @returns {Calls}
 */
export const compareCalls = ({ m, s, show, real, from, money, nation }) => {
  const inReal = real && show !== 'nation';
  // The API changes prices to real ones or into yearly changes, not both.
  const units = inReal ? 'real' : show === 'change' ? 'yoy' : undefined;
  // A yearly change of values in real terms begins a year before.
  const since = `${Number(from) - (show === 'nation' || (inReal && show === 'change') ? 1 : 0)}-01-01`;
  const call = (/** @type {readonly string[]} */ ids, /** @type {string | undefined} */ unit, cbsa = '') =>
    ids.length > 0 ? [callOf('/observations', { series_id: ids.join(','), cbsa, units: unit, since })] : [];
  const deflated = inReal ? money : s;
  const plain = inReal ? s.filter((id) => !money.includes(id)) : [];
  const worked = [
    show === 'rebased' && 'the start at 100',
    show === 'nation' && 'yearly changes, those of the nation, and the difference',
    show === 'change' && inReal && 'the yearly change of the real values',
    s.length > 0 && 'means of quarters',
  ].filter(Boolean);
  return {
    targets: [
      ...call(m.length > 0 ? ['metro_hpi'] : [], units, m.join(',')),
      ...call(deflated, units),
      ...call(plain, show === 'change' ? 'yoy' : undefined),
      ...call(show === 'nation' && nation ? [nation] : [], undefined),
    ],
    remark:
      worked.length > 0
        ? `This page works out ${worked.join('; ')} from what the calls give. “CSV: as shown” has the result.`
        : '',
  };
};
