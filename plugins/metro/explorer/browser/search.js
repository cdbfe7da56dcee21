import { h } from '../../../../core/pages/shared/dom.js';
import { plain } from '../../../../core/pages/shared/format.js';
import { NICKNAMES } from './nicknames.js';
import { metroOfZip } from './zip-codes.js';

const STATE_NAMES = `
AL Alabama, AK Alaska, AZ Arizona, AR Arkansas, CA California, CO Colorado, CT Connecticut, DE Delaware,
DC District of Columbia, FL Florida, GA Georgia, HI Hawaii, ID Idaho, IL Illinois, IN Indiana, IA Iowa,
KS Kansas, KY Kentucky, LA Louisiana, ME Maine, MD Maryland, MA Massachusetts, MI Michigan, MN Minnesota,
MS Mississippi, MO Missouri, MT Montana, NE Nebraska, NV Nevada, NH New Hampshire, NJ New Jersey,
NM New Mexico, NY New York, NC North Carolina, ND North Dakota, OH Ohio, OK Oklahoma, OR Oregon,
PA Pennsylvania, PR Puerto Rico, RI Rhode Island, SC South Carolina, SD South Dakota, TN Tennessee, TX Texas,
UT Utah, VT Vermont, VA Virginia, WA Washington, WV West Virginia, WI Wisconsin, WY Wyoming`;

export const STATES = new Map(
  STATE_NAMES.trim()
    .split(/,\s+/)
    .map((state) => /** @type {const} */ ([state.slice(0, 2), state.slice(3)])),
);

/** @param {string} name @returns {string[]} */
export const statesOf = (name) => /, ([A-Z]{2}(?:-[A-Z]{2})*)/.exec(name)?.[1]?.split('-') ?? [];

/** @param {string} name */
export const plainName = (name) => name.replace(/\s*\(MSAD\)$/, '');

/** Returns the first city of a name, which is short enough for the label of a chart line. @param {string} name */
export const shortName = (name) =>
  plainName(name)
    .replace(/,.*/, '')
    .replace(/(?<=.{4})[-–/].*/, '');

/** @type {Readonly<Record<string, string>>} */
const SAME_WORDS = { saint: 'st', ft: 'fort', mt: 'mount' };

/** @param {string} text @returns {string[]} */
export const wordsOf = (text) =>
  plain(text)
    .replace(/[.’']/g, '')
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .map((word) => SAME_WORDS[word] ?? word);

/** Queries of at least 4 letters match the start of a nickname. Shorter queries match only whole nicknames. */
const LEAST_LETTERS = 4;

/** @param {string} query */
const nicknamed = (query) => {
  const typed = wordsOf(query).join(' ');
  return new Set(
    NICKNAMES.filter(([name]) => name === typed || (typed.length >= LEAST_LETTERS && name.startsWith(typed))).map(
      ([, cbsa]) => cbsa,
    ),
  );
};

const LEAST_START = 6;

/**
 * Tolerates typing errors: one in words of 4 to 7 letters, and two in longer words. An error is a wrong, missing, extra
 * or swapped letter. With fewer than 6 letters, a query must match the whole word, so that "grade" does not match
 * "Grapevine".
 * @param {string} typed @param {string} word
 */
export const nearly = (typed, word) => {
  const allowed = typed.length >= 8 ? 2 : typed.length >= 4 ? 1 : 0;
  const target = word.slice(0, typed.length + allowed);
  if (typed.length < LEAST_START && word.length > typed.length + allowed) return false;
  if (allowed === 0 || typed[0] !== word[0] || target.length < typed.length - allowed) return false;
  let [before, row] = [/** @type {number[]} */ ([]), Array.from({ length: target.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= typed.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= target.length; j += 1) {
      const same = typed[i - 1] === target[j - 1];
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (typed[i - 1] === target[j - 2] && typed[i - 2] === target[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 9) + 1);
      next[j] = cost;
    }
    [before, row] = [row, next];
  }
  return Math.min(...row.slice(Math.max(0, typed.length - allowed))) <= allowed;
};

const STATE_WORDS = [...STATES].map(([code, name]) => ({ code, words: wordsOf(name) }));

/** @param {string} query @returns {string | undefined} */
export const stateNamed = (query) => {
  const typed = wordsOf(query).join(' ');
  return [...STATES].find(([code, name]) => code.toLowerCase() === typed || wordsOf(name).join(' ') === typed)?.[0];
};

const GENERAL =
  /\b(?:metros|markets|cities)\s+in\b|\b(?:house|home|housing)\s+prices?\b|\b(?:metro(?:\s+area)?|metros|markets?|msa|cbsa|forecasts?|outlook|and|with)\b/gi;

/**
 * Removes words that do not identify a place, as in "boise 2021" and "houston house prices". A year has no effect,
 * because charts show all years.
 * @param {string} query
 */
export const placeIn = (query) => {
  const place = query.replace(/(\S)\s+(?:(?:in|since|from)\s+)?(?:19|20)\d\d\s*$/i, '$1').replace(GENERAL, ' ');
  return place.trim() === '' ? query : place;
};

/**
 * Splits a list of names at commas and semicolons, except before a postal code: "Austin, TX, Boise" contains two names.
 * @param {string} text
 */
export const namesIn = (text) =>
  text
    .split(/[,;](?!\s*[A-Z]{2}(?:-[A-Z]{2})*\s*(?:[,;]|$))/i)
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** @param {string} query */
const cityOf = (query) => {
  let words = wordsOf(query);
  for (let again = true; again; ) {
    const end = [
      ...[...STATES.keys()].map((code) => [code.toLowerCase()]),
      ...STATE_WORDS.map(({ words: name }) => name),
    ].find(
      (name) => name.length < words.length && name.every((word, at) => words[words.length - name.length + at] === word),
    );
    again = end !== undefined;
    if (end) words = words.slice(0, -end.length);
  }
  return words;
};

/**
 * Selects the market that a query identifies: the only result, or the only one whose first city starts with the query.
 * Undefined if the query is ambiguous.
 * @template {{ cbsa: string, name: string }} Row
 * @param {string} query @param {readonly Row[]} found
 * @returns {Row | undefined}
 */
export const onlyOne = (query, found) => {
  if (found.length === 1) return found[0];
  const city = cityOf(placeIn(query));
  const named = found.filter(({ name }) => {
    const words = wordsOf(name);
    return city.every((word, at) => (at === city.length - 1 ? words[at]?.startsWith(word) : words[at] === word));
  });
  return named.length === 1 ? named[0] : undefined;
};

/**
 * Returns the first city of a market, followed by the states if another market has the same first city.
 * @param {string} name @param {readonly { name: string }[]} all
 */
export const tellingName = (name, all) => {
  const short = shortName(name);
  const alike = all.filter((other) => shortName(other.name) === short).length > 1;
  return alike ? `${short}, ${statesOf(name).join('-')}` : short;
};

/** @typedef {{ words: string[], states: string[] }} Term */

/** @param {string} query @returns {Term[]} */
const termsOf = (query) => {
  const words = wordsOf(query);
  /** @type {Term[]} */
  const terms = [];
  for (let at = 0; at < words.length; ) {
    const named = STATE_WORDS.filter(({ words: name }) => name.every((word, index) => words[at + index] === word));
    const length = Math.max(1, ...named.map(({ words: name }) => name.length));
    const word = `${words[at]}`;
    const states = named.filter(({ words: name }) => name.length === length).map(({ code }) => code);
    if (STATES.has(word.toUpperCase())) states.push(word.toUpperCase());
    terms.push({ words: words.slice(at, at + length), states });
    at += length;
  }
  return terms;
};

/**
 * @template {{ cbsa: string, name: string }} Row @param {readonly Row[]} rows
 * @param {ReadonlyMap<string, string>} [parents]
 * @returns {(query: string, forgiving?: boolean) => Row[]} `forgiving: false` allows no typing errors. Default: allows
 *   errors if nothing else matches
 */
export const searcher = (rows, parents = new Map()) => {
  const entries = rows.map((row) => ({
    row,
    words: wordsOf(plainName(row.name).replace(/,[^,]*$/, '')),
    parent: wordsOf((parents.get(row.cbsa) ?? '').replace(/,[^,]*$/, '')),
    states: statesOf(row.name),
  }));
  /** @param {(typeof entries)[number]} entry @param {Term} term @param {boolean} forgiving */
  const score = ({ row, words, parent, states }, term, forgiving) => {
    const [word = ''] = term.words;
    const scores = [0];
    const all = (/** @type {string[]} */ among) =>
      term.words.every((one) => among.some((other) => other.startsWith(one)));
    if (all(words)) scores.push(words[0]?.startsWith(word) ? 6 : words.includes(word) ? 4 : 3);
    if (term.states.some((state) => states.includes(state))) scores.push(states[0] === term.states[0] ? 5 : 4);
    if (all(parent)) scores.push(2);
    if (/^\d+$/.test(word) && row.cbsa.startsWith(word)) scores.push(6);
    // A query word of at least 4 letters can be the start of a word in a state's name, such as "calif".
    if (
      word.length >= 4 &&
      states.some((state) => wordsOf(STATES.get(state) ?? '').some((one) => one.startsWith(word)))
    ) {
      scores.push(2);
    }
    if (forgiving) {
      const like = (/** @type {string[]} */ among) =>
        // Digits must match exactly, because similar codes belong to different areas.
        term.words.every((one) => !/^\d/.test(one) && among.some((other) => nearly(one, other)));
      if (like(words)) scores.push(2);
      if (like([...parent, ...states.flatMap((state) => wordsOf(STATES.get(state) ?? ''))])) scores.push(1);
    }
    return Math.max(...scores);
  };
  /** @param {string} query */
  const named = (query) => {
    const codes = nicknamed(query);
    if (codes.size === 0) return [];
    const found = entries.filter(
      ({ row }) => codes.has(row.cbsa) || codes.has((parents.get(row.cbsa) ?? '').slice(0, 5)),
    );
    // The division that contains the first city of the metro comes first.
    const isMain = (/** @type {(typeof entries)[number]} */ { words, parent }) => Number(words[0] === parent[1]);
    return found.toSorted((a, b) => isMain(b) - isMain(a)).map(({ row }) => row);
  };
  /** @param {string} query @param {boolean} mayForgive */
  const scored = (query, mayForgive) => {
    const terms = termsOf(query);
    if (terms.length === 0) return [...rows];
    for (const forgiving of mayForgive ? [false, true] : [false]) {
      const found = entries.flatMap((entry) => {
        const scores = terms.map((term) => score(entry, term, forgiving));
        return scores.includes(0) ? [] : [{ row: entry.row, total: scores.reduce((sum, one) => sum + one, 0) }];
      });
      if (found.length > 0) return found.toSorted((a, b) => b.total - a.total).map(({ row }) => row);
    }
    return [];
  };
  return (typed, forgiving = true) => {
    const query = placeIn(typed);
    const metro = metroOfZip(query);
    const inZip = rows.filter(({ cbsa }) => cbsa === metro);
    return [...new Set([...named(query), ...scored(query, forgiving), ...inZip])];
  };
};

/** @param {string} cbsa @param {string} name */
export const marketLink = (cbsa, name) => h('a', { href: `#/markets/${cbsa}` }, plainName(name));
