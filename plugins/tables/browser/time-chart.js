import { chart } from '../../../core/pages/data-views/chart.js';
import { choice, select } from '../../../core/pages/data-views/controls.js';
import { linesCsv } from '../../../core/pages/data-views/csv.js';
import { chartFigure, linesTable } from '../../../core/pages/data-views/figure.js';
import { latestOf, showLatest } from '../../../core/pages/data-views/latest.js';
import { Problem } from '../../../core/pages/shared/api.js';
import { h, keepingFocus, ownerName } from '../../../core/pages/shared/dom.js';
import { exact, rounded } from '../../../core/pages/shared/format.js';
import { inSentence, words } from './cells.js';
import { optionsFor } from './columns.js';
import { matchingOf } from './conditions.js';
import { rejectionOf, totalsOf } from './rows.js';
import { chartChoices, figuresOf, MAX_LINES, peakText, periodText } from './time-figures.js';

/** @import { Column, Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */

/**
 * @typedef {ReturnType<typeof chartChoices>} Offer
 * @typedef {ReturnType<typeof choicesOf>} Choices
 * @typedef {ReturnType<typeof figuresOf>} Figures
 * @typedef {{ form: string, time: string, value: string, by: string }} Query
 */

const COUNT = 'rows';

/** @param {readonly Column[]} columns @param {string} name */
const named = (columns, name) => columns.find((column) => column.name === name)?.name;

/** @param {Offer} offer @param {Query} query */
const choicesOf = ({ times, numbers, groups, first }, { form, time, value, by }) => {
  const shown = form === 'line' || form === 'bars' ? form : first.form;
  return {
    form: shown,
    time: named(times, time) ?? first.time,
    value: value === COUNT ? null : (named(numbers, value) ?? first.value),
    by: shown === 'bars' || by === COUNT ? null : (named(groups, by) ?? first.by),
  };
};

/** @param {Offer} offer @param {Choices} chosen @param {(change: Partial<Query>) => void} choose */
const controlsOf = ({ times, numbers, groups }, { form, time, value, by }, choose) =>
  h(
    'div',
    { class: 'switches' },
    choice({
      legend: 'As',
      name: 'form',
      choices: [
        ['line', 'Line'],
        ['bars', 'Bars'],
      ],
      value: form,
      onchange: (each) => choose({ form: each }),
    }),
    select('value', 'Values', [...optionsFor(numbers), [COUNT, 'Number of rows']], value ?? COUNT, (each) =>
      choose({ value: each }),
    ),
    times.length > 1 ? select('time', 'Over', optionsFor(times), time, (each) => choose({ time: each })) : null,
    groups.length > 0 && form === 'line'
      ? select('by', 'One line per', [[COUNT, 'None'], ...optionsFor(groups)], by ?? COUNT, (each) =>
          choose({ by: each }),
        )
      : null,
  );

/** @param {Table} table @param {Choices} chosen @param {Figures} figures */
const textsOf = ({ columns }, { form, value, time }, { period, means }) => {
  const labelOf = (/** @type {string | null} */ name) => columns.find((column) => column.name === name)?.label ?? '';
  const label = labelOf(value);
  return {
    what: value === null ? 'Number of rows' : means ? `Mean of ${inSentence(label)}` : label,
    per: form === 'bars' || period !== 'day' ? ` by ${period}` : '',
    axis: labelOf(time),
  };
};

/**
 * @param {ReturnType<typeof textsOf>} texts @param {Choices} chosen @param {Figures} figures
 * @returns {import('../../../core/pages/data-views/drawing.js').ChartOptions}
 */
const optionsOf = ({ what, per, axis }, chosen, { dates, period, lines }) => {
  return {
    label: `${what}${per} of ${inSentence(axis)}.`,
    unit: what,
    dates,
    lines: lines.map(({ label, values }, index) => ({
      label: label || what,
      ...(label && { short: label }),
      values,
      color: lines.length > 1 ? `line-${index + 1}` : 'accent',
      bars: chosen.form === 'bars',
    })),
    dateText: (date) => periodText(date, period),
    valueText: (one) => rounded(one),
  };
};

/** @param {number} rows @param {boolean} isFiltered */
const rowsText = (rows, isFiltered) => {
  const matching = isFiltered ? 'matching ' : '';
  if (rows === 1) return `the only ${matching}row that has a value`;
  return `${rows === 2 ? 'both' : `all ${exact(rows)}`} ${matching}rows that have a value`;
};

/** @param {Figures} figures @param {boolean} isFiltered */
const noteOf = ({ means, left, period, rows }, isFiltered) =>
  [
    `Based on ${rowsText(rows, isFiltered)}.`,
    means && `Each value is the mean of all rows in one ${period}.`,
    left > 0 && `Showing the first ${MAX_LINES} of ${MAX_LINES + left} lines. Filter the rows to see others.`,
  ]
    .filter(Boolean)
    .join(' ');

/** @param {Table} table @param {Choices} chosen @param {Figures} figures */
const findingOf = (table, chosen, figures) =>
  `${words(table.name)}: ${inSentence(textsOf(table, chosen, figures).what)} ${peakText(figures, (one) => rounded(one))}`;

/**
 * @param {Table} table @param {Choices} chosen @param {Figures} figures
 * @param {{ target: string, isFiltered: boolean, signal: AbortSignal, finding: string }} parts
 */
const timeFigure = (table, chosen, figures, { target, isFiltered, signal, finding }) => {
  const texts = textsOf(table, chosen, figures);
  const options = optionsOf(texts, chosen, figures);
  const heading = `${words(table.name)}: ${inSentence(texts.what)}${texts.per}`;
  return chartFigure({
    title: heading,
    note: noteOf(figures, isFiltered),
    chart: chart(options, signal),
    picture: {
      title: finding,
      file: table.name,
      options: () => options,
      credits: () => [ownerName(), location.href],
    },
    sources: [{ label: table.name, target, file: table.name }],
    shown: { file: `${table.name}-${chosen.value ?? COUNT}.csv`, text: () => linesCsv(options, chosen.time) },
    table: linesTable(options, texts.axis),
  });
};

/** @param {Table} table @param {URLSearchParams} matching @param {Choices} chosen */
const parametersOf = ({ measures }, matching, { time, value, by }) => {
  matching.set('by', by === null || by === time ? time : `${time},${by}`);
  if (value !== null) {
    matching.set('of', value);
    matching.set('fields', `${measures['count']},${measures['sum']}`);
    // Excludes rows without a value, so that the count is the number of values.
    matching.set(`${value}[null]`, 'false');
  }
  return matching;
};

const noValues = () =>
  h(
    'div',
    { class: 'notice' },
    h('h2', 'No values'),
    h('p', 'No matching row has a value. Choose other values, or remove a filter.'),
  );

/**
 * @param {Table} table @param {URLSearchParams} query
 * @param {{ signal: AbortSignal, sample: readonly Row[], keep: (change: Record<string, string>) => void,
 *   onfinding: (finding: string) => void }} options
 */
export const timeChart = (table, query, { signal, sample, keep, onfinding }) => {
  const [controls, place] = [h('div'), h('div')];
  const next = latestOf(signal);
  const offer = chartChoices(table, sample);
  const chosen = () => {
    const { form = '', time = '', value = '', by = '' } = Object.fromEntries(query);
    return choicesOf(offer, { form, time, value, by });
  };
  const choose = (/** @type {Partial<Query>} */ change) => {
    keep(change);
    keepingFocus(showControls);
    void show();
  };
  const showControls = () => controls.replaceChildren(controlsOf(offer, chosen(), choose));
  const show = () =>
    showLatest(
      next,
      place,
      async (loading) => {
        const matching = matchingOf(table, query);
        // If a filter selects only rows without a value, the chart would be empty, so no request is sent.
        if (matching.get(`${chosen().value}[null]`) === 'true') return { parameters: matching, totals: [] };
        const parameters = parametersOf(table, matching, chosen());
        return { parameters, totals: await totalsOf(table, parameters, loading).catch(rejectionOf) };
      },
      ({ parameters, totals }, shown) => {
        if (totals instanceof Problem)
          return place.replaceChildren(h('p', { class: 'notice', role: 'alert' }, totals.message));
        const target = `/totals/${table.name}?${parameters}`;
        const figures = figuresOf(totals, chosen(), table.measures);
        if (figures.rows === 0) return place.replaceChildren(noValues());
        const isFiltered = matchingOf(table, query).size > 0;
        const finding = findingOf(table, chosen(), figures);
        place.replaceChildren(timeFigure(table, chosen(), figures, { target, isFiltered, signal: shown, finding }));
        onfinding(finding);
      },
    );
  showControls();
  return { element: h('div', controls, place), show };
};
