import { listIn } from '../../../../../core/pages/data-views/address.js';
import { day, direction, exact, list, PAST_MOVES, quarter, share } from '../../../../../core/pages/shared/format.js';
import { limitsOf, recordOf } from '../grades.js';
import { addMonths } from '../market-figures.js';
import { plainName, STATES } from '../search.js';

/** @import { GroupRecord } from '../grades.js' */
/** @import { Row, Run } from './runs.js' */
/** @import { Measure } from './scales.js' */

/** @type {{ [measure in Measure]: string }} */
export const QUESTIONS = {
  forecast: 'Where does the model expect house prices to rise or fall?',
  grade: 'Where is the risk of falling house prices high?',
  signal: 'Where does the model signal expansion or contraction?',
  last: 'Where did house prices rise or fall over the last year?',
};

/** @param {Measure} measure @param {Run | undefined} run @param {string} until */
export const mapTitle = (measure, run, until) => {
  if (measure === 'last' || !run)
    return `Change in house prices, ${quarter(addMonths(until, -12))} to ${quarter(until)}`;
  const name = { forecast: 'Expected change in house prices', grade: 'Risk of falling house prices', signal: 'Signal' }[
    measure
  ];
  return `${name}, ${quarter(until)} to ${quarter(run.target)}`;
};

/** @param {Row} row @param {{ measure: Measure, isNewest: boolean, target: string, until: string }} shown */
const oneFinding = ({ name, forecast, last, grade, signal }, { measure, isNewest, target, until }) => {
  const [was, has] = isNewest ? ['are', 'has'] : ['were', 'had'];
  const metro = plainName(name);
  const next = ['fall', 'stay the same', 'rise'][direction(forecast ?? 0) + 1];
  const past = PAST_MOVES[direction(last ?? 0) + 1];
  return {
    forecast: `House prices ${was} expected to ${next} in ${metro} by ${target}`,
    grade: `${metro} ${has} the risk grade ${grade}`,
    signal: `${metro} ${has} the signal “${signal}”`,
    last: `House prices ${past} in ${metro} in the year to ${quarter(until)}`,
  }[measure];
};

/** @typedef {Record<'q' | 'state' | 'signal' | 'grade', string>} Filters */

/** @param {readonly string[]} words */
const either = (words) => new Intl.ListFormat('en', { type: 'disjunction' }).format(words);

/** @param {Filters} chosen */
const stateText = ({ state }) => state && ` in ${either(listIn(state).map((code) => STATES.get(code) ?? code))}`;

/** @param {Filters} chosen */
const wantedText = ({ signal, grade }) =>
  [grade && `grade ${either(listIn(grade))}`, signal && `the signal ${either(listIn(signal).map((one) => `“${one}”`))}`]
    .filter(Boolean)
    .join(' and ');

/** @param {Filters} chosen */
const groupText = (chosen) => {
  const wanted = wantedText(chosen);
  return chosen.q === '' ? `${stateText(chosen)}${wanted && ` with ${wanted}`}` : '';
};

/** @param {Filters} chosen @param {boolean} isNewest */
const noneText = (chosen, isNewest) => {
  const wanted = wantedText(chosen);
  if (chosen.q !== '' || wanted === '') return 'No market matches';
  return `No metro${stateText(chosen)} ${isNewest ? 'has' : 'had'} ${wanted}`;
};

/** @type {{ [measure in Measure]: (row: Row) => boolean }} */
const COUNTED = {
  forecast: ({ forecast }) => (forecast ?? 0) > 0,
  grade: ({ grade }) => grade === 'D' || grade === 'F',
  signal: ({ signal }) => signal === 'expand',
  last: ({ last }) => (last ?? 0) > 0,
};

/** @type {{ [measure in Measure]: string }} */
const NONE = { forecast: 'no forecast', grade: 'no risk grade', signal: 'no signal', last: 'no index' };

/** @param {number} count @param {number} all @param {string} group */
const amongText = (count, all, group) => {
  const metros = `metros${group}`;
  if (count === all) return all === 2 ? `both ${metros}` : `all ${exact(all)} ${metros}`;
  return `${count === 0 ? 'none of the' : `${exact(count)} of`} ${exact(all)} ${metros}`;
};

/**
 * @param {readonly Row[]} rows @param {{ measure: Measure, run: Run | undefined, isNewest: boolean, until: string,
 *   chosen: Filters }} shown
 */
export const findingOf = (rows, { measure, run, isNewest, until, chosen }) => {
  const known = rows.filter((row) => row[measure] !== null);
  if (rows.length === 0) return noneText(chosen, isNewest);
  if (known.length === 0) {
    const who =
      rows[0] && rows.length === 1 ? `${plainName(rows[0].name)} has` : `The ${exact(rows.length)} metros have`;
    return `${who} ${NONE[measure]}`;
  }
  const target = run ? quarter(run.target) : '';
  if (known[0] && known.length === 1) return oneFinding(known[0], { measure, isNewest, target, until });
  const count = known.filter(COUNTED[measure]).length;
  // In early runs, some metros have no value and are not counted. A phrase such as "40 metros in Texas" would then be
  // wrong, so the sentence omits the filters.
  const among = amongText(count, known.length, known.length === rows.length ? groupText(chosen) : '');
  const [was, have] = isNewest ? ['are', count === 1 ? 'has' : 'have'] : ['were', 'had'];
  const sentence = {
    forecast: `House prices ${was} expected to rise in ${among} by ${target}`,
    grade: `${among} ${have} a high risk of falling house prices by ${target}`,
    signal: `${among} ${have} the signal “expand”`,
    last: `House prices rose in ${among} in the year to ${quarter(until)}`,
  }[measure];
  return sentence.replace(/^[abn]/, (letter) => letter.toUpperCase());
};

/** @param {Run['rules']} rules @param {readonly GroupRecord[]} records */
const allGrades = (rules, records) => {
  const each = [...'ABCDF'].flatMap((letter) => {
    const record = records.find(({ group }) => group === letter);
    const limits = rules ? limitsOf(rules, letter) : '';
    return limits ? [`${letter} ${limits}${record ? ` (${share(record.decline_share)})` : ''}`] : [];
  });
  if (each.length === 0) return '';
  const forecasts = records[0]?.forecasts;
  const outcomes = forecasts ? `, and in brackets the share of ${forecasts} that were followed by a decline` : '';
  return `Probability of a decline by grade, according to the model${outcomes}: ${each.join(', ')}.`;
};

/** @param {Run['rules']} rules @param {readonly GroupRecord[]} records @param {string} grade */
const oneGrade = (rules, records, grade) =>
  [
    rules && `${grade} means that the probability of a decline is ${limitsOf(rules, grade)}, according to the model.`,
    recordOf(records, grade),
  ]
    .filter(Boolean)
    .join(' ');

/**
 * @param {{ grade: string, colour: string }} chosen @param {Run | undefined} run @param {readonly GroupRecord[]}
 *   records
 * @returns {string}
 */
export const gradesText = ({ grade, colour }, run, records) => {
  const rules = run?.rules ?? null;
  if (grade !== '')
    return listIn(grade)
      .map((one) => oneGrade(rules, records, one))
      .join(' ');
  return colour === 'grade' ? allGrades(rules, records) : '';
};

/** @param {readonly Run[]} runs */
const runsText = (runs) => {
  const models = [...new Set(runs.map(({ model_version }) => model_version))];
  const vintages = [...new Set(runs.flatMap(({ vintage }) => vintage ?? []))];
  const reconstructed = runs.filter(({ basis }) => basis === 'reconstructed').length;
  return [
    ...models.map((model) => {
      const days = runs.filter(({ model_version }) => model_version === model).map(({ run_at }) => day(run_at));
      return `run${days.length === 1 ? '' : 's'} of ${list(days)} by ${model}`;
    }),
    ...(vintages.length > 0 ? [`vintage${vintages.length === 1 ? '' : 's'} of ${list(vintages)}`] : []),
    ...(runs.length > 1 && reconstructed > 0
      ? [`${reconstructed === runs.length ? 'all' : exact(reconstructed)} reconstructed`]
      : []),
  ];
};

/**
 * @param {import('../../../client/api-types.js').Series | undefined} series @param {readonly Run[]} runs all runs shown
 * @param {string} until
 */
export const factsText = (series, runs, until) => {
  const adjusted = series?.seasonal_adjustment === 'NSA' ? ', not seasonally adjusted' : '';
  return [series && `${series.title}: ${series.units}${adjusted}, up to ${quarter(until)}`, ...runsText(runs)]
    .filter(Boolean)
    .join(' · ');
};
