import { counted } from '../../../../core/pages/shared/format.js';
import { namesIn, onlyOne, placeIn, STATES, stateNamed, tellingName, wordsOf } from './search.js';

/** @import { Lists, Option } from './search-options.js' */

/** @param {string} lines @returns {ReadonlyMap<string, string>} */
const tableOf = (lines) =>
  new Map(
    lines
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [target = '', names = ''] = line.split(': ');
        return names.split(', ').map((name) => /** @type {const} */ ([name, target]));
      }),
  );

/** Names of series that do not appear in their titles. Each line starts with the ids of the series. */
const SERIES = tableOf(`
CPIAUCSL CPILFESL: inflation, consumer prices, cost of living
FEDFUNDS DGS10 DGS2: interest rate, interest rates, rates
FEDFUNDS: fed rate, fed funds rate, federal funds rate, policy rate
DGS10: treasury yield, 10 year, 10y
DGS2: 2 year, 2y
PAYEMS: employment, jobs, payrolls, nonfarm payrolls
CIVPART: participation rate
HOUST: housing starts, starts
HSN1F: new home sales, home sales, house sales
M2SL: money supply
metro_hpi: hpi, fhfa, house price index, home price index, house prices, home prices
USSTHPI: us, usa, united states, nation, national
`);

/**
 * Names of sort orders. Each line contains the parameters of the list, the name that the option shows, and other names.
 */
const ORDERS = tableOf(`
sort=-forecast: highest forecast, strongest, best, top, rising, growth, hottest
sort=forecast: lowest forecast, weakest, worst, falling, decline, declines
sort=grade&colour=grade: risk grade, grade, grades, risk, safest
sort=change: largest decrease, biggest decline
sort=-change: largest increase, biggest increase
`);

/** Returns the ids of the series with this common name. @param {string} query */
export const seriesNamed = (query) => SERIES.get(wordsOf(query).join(' '))?.split(' ');

const GRADE = /\b(?:risk graded?|graded?|grades|risk) ([abcdf])\b|\b([abcdf]) grade\b/;
const SIGNAL = /\b(?:signal )?(expand|hold|contract)\b(?: signal)?/;

/**
 * Interprets queries such as "grade f", "ohio expand" and "falling" as filters or sort orders of the list.
 * @param {string} query @returns {Option[]}
 */
export const listOptions = (query) => {
  const words = wordsOf(query).join(' ');
  const order = ORDERS.get(words);
  if (order) {
    const [name] = [...ORDERS].find(([, each]) => each === order) ?? [words];
    return [{ label: `Markets by ${name}`, detail: 'list', address: `#/markets?${order}` }];
  }
  const [grade, signal] = [GRADE.exec(words), SIGNAL.exec(words)];
  if (!grade && !signal) return [];
  const rest = words.replace(GRADE, '').replace(SIGNAL, '').trim();
  const state = stateNamed(placeIn(rest));
  if (rest !== '' && !state) return [];
  const choices = {
    ...(state && { state }),
    ...(signal && { signal: `${signal[1]}` }),
    ...(grade && { grade: `${grade[1] ?? grade[2]}`.toUpperCase() }),
  };
  const named = [choices.grade && `risk grade ${choices.grade}`, choices.signal && `signal ${choices.signal}`];
  const label = `Markets with ${named.filter(Boolean).join(' and ')}${state ? ` in ${STATES.get(state)}` : ''}`;
  return [{ label, detail: 'list', address: `#/markets?${new URLSearchParams(choices)}` }];
};

const SINCE = /\s+(?:since|from)\s+((?:19|20)\d\d)\b/i;
const REAL = /\s+(?:in\s+)?real(?:\s+terms)?\b(?!\s+estate)/i;

/**
 * Interprets queries such as "boise vs austin" and "boise, austin in real terms since 2008" as a comparison.
 * @param {string} query @param {Lists['markets']} markets @param {(name: string) => Lists['markets']} find
 * @returns {Option[]}
 */
export const compareOptions = (query, markets, find) => {
  const from = SINCE.exec(query)?.[1];
  const choices = `${REAL.test(query) ? '&real=1' : ''}${from ? `&from=${from}` : ''}`;
  const places = query.replace(SINCE, '').replace(REAL, '');
  const names = namesIn(places.replace(/\s+(?:vs\.?|versus|and|&|\+)\s+/gi, ', '));
  if (names.length < 2) return [];
  const found = names.map((name) => onlyOne(name, find(name)));
  // Several parts of a query can belong to the same market, as in "Minneapolis and St. Paul".
  const known = [...new Set(found.flatMap((market) => market ?? []))];
  if (found.includes(undefined) || known.length < 2) return [];
  return [
    {
      label: `Compare ${known.map(({ name }) => tellingName(name, markets)).join(', ')}`,
      detail: counted(known.length, 'market'),
      address: `#/compare?m=${known.map(({ cbsa }) => cbsa)}${choices}`,
    },
  ];
};
