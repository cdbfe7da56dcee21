/**
 * @typedef {{ q: string, state: string, signal: string, grade: string, sort: string }} ListChoices
 * @typedef {{ targets: string[], remark: string }} Calls
 */

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
 * @param {string} [pastTarget] first day of the target quarter of an earlier run. Default: the newest run
 * @returns {Calls}
 */
export const marketCalls = ({ q, state, signal, grade, sort }, pastTarget) => {
  const column = sort.replace(/^-/, '');
  if (pastTarget !== undefined) {
    return {
      targets: [callOf('/forecast-track', { since: pastTarget, until: pastTarget })],
      remark:
        'The call returns every forecast for the target quarter of the selected run. This page searches, filters and sorts them. “CSV: as shown” contains the result.',
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
    remark:
      left && `The call does not include ${left}. This page does that itself. “CSV: as shown” contains the result.`,
  };
};

/**
 * @param {{ m: readonly string[], s: readonly string[], show: 'rebased' | 'change' | 'nation', real: boolean, from:
 *   string, money: readonly string[], rates: readonly string[], nation?: string | undefined }} chosen
 * @returns {Calls}
 */
export const compareCalls = ({ m, s, show, real, from, money, rates, nation }) => {
  const inReal = real && show !== 'nation';
  // The API cannot return yearly changes of real values.
  const units = inReal ? 'real' : show === 'change' ? 'yoy' : undefined;
  // To compute the first yearly change, the page needs values from one year earlier.
  const earlier = `${Number(from) - 1}-01-01`;
  const start = show === 'nation' || (inReal && show === 'change') ? earlier : `${from}-01-01`;
  const call = (
    /** @type {readonly string[]} */ ids,
    /** @type {string | undefined} */ unit,
    cbsa = '',
    since = start,
  ) => (ids.length > 0 ? [callOf('/observations', { series_id: ids.join(','), cbsa, units: unit, since })] : []);
  const relative = show === 'rebased' ? s : s.filter((id) => !rates.includes(id));
  const differences = show === 'change' ? s.filter((id) => rates.includes(id)) : [];
  const deflated = inReal ? money : relative;
  const plain = inReal ? relative.filter((id) => !money.includes(id)) : [];
  const worked = [
    show === 'rebased' && 'values relative to the start (100)',
    show === 'nation' && 'yearly changes, the nation’s yearly changes, and the difference',
    show === 'change' && inReal && 'yearly changes in real values',
    differences.length > 0 && 'yearly changes in percentage points',
    s.length > 0 && 'quarterly means',
  ].filter(Boolean);
  return {
    targets: [
      ...call(m.length > 0 ? ['metro_hpi'] : [], units, m.join(',')),
      ...call(deflated, units),
      ...call(plain, show === 'change' ? 'yoy' : undefined),
      ...call(differences, undefined, '', earlier),
      ...call(show === 'nation' && nation ? [nation] : [], undefined),
    ],
    remark:
      worked.length > 0
        ? `This page computes ${worked.join('; ')} from the responses. “CSV: as shown” contains the result.`
        : '',
  };
};
