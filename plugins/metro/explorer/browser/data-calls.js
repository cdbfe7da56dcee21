/** The API calls behind a view, and a description of what the page computes from the responses. */

/**
 * @typedef {{ q: string, state: string, signal: string, grade: string, sort: string }} ListChoices the choices in the list of markets
 * @typedef {{ targets: string[], remark: string }} Calls `remark`: what the page adds to the calls; may be empty
 */

/** Columns of the list by which the API can sort. */
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
 * @param {ListChoices} chosen
 * @param {string} [pastTarget] first day of the quarter that an earlier run forecasts. Default: the newest run
 * @returns {Calls}
 */
export const marketCalls = ({ q, state, signal, grade, sort }, pastTarget) => {
  const column = sort.replace(/^-/, '');
  if (pastTarget !== undefined) {
    return {
      targets: [callOf('/forecast-track', { since: pastTarget, until: pastTarget })],
      remark:
        'The call returns every forecast for the quarter of the chosen run. This page searches, filters and sorts; “CSV: as shown” has the result.',
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
    remark: left && `The call does not include ${left}. This page does it; “CSV: as shown” has the result.`,
  };
};

/**
 * @param {{ m: readonly string[], s: readonly string[], show: 'rebased' | 'change' | 'nation', real: boolean, from: string,
 *   money: readonly string[], nation?: string | undefined }} chosen `money`: the series of `s` to which real terms apply;
 *   `nation`: the series of the nation
 * @returns {Calls}
 */
export const compareCalls = ({ m, s, show, real, from, money, nation }) => {
  const inReal = real && show !== 'nation';
  // The API converts values either to real terms or to yearly changes, but not to both.
  const units = inReal ? 'real' : show === 'change' ? 'yoy' : undefined;
  // Yearly changes that the page computes need one more year of data.
  const since = `${Number(from) - (show === 'nation' || (inReal && show === 'change') ? 1 : 0)}-01-01`;
  const call = (/** @type {readonly string[]} */ ids, /** @type {string | undefined} */ unit, cbsa = '') =>
    ids.length > 0 ? [callOf('/observations', { series_id: ids.join(','), cbsa, units: unit, since })] : [];
  const deflated = inReal ? money : s;
  const plain = inReal ? s.filter((id) => !money.includes(id)) : [];
  const worked = [
    show === 'rebased' && 'the start at 100',
    show === 'nation' && 'yearly changes, the nation’s yearly changes, and the difference',
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
        ? `This page computes ${worked.join('; ')} from the responses. “CSV: as shown” has the result.`
        : '',
  };
};
