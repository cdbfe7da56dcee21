import { h } from '../shared/dom.js';

const SPANS = [5, 10, 20, 0];

/** @param {readonly string[]} dates @param {number} years @returns {string | undefined} */
export const lastYears = (dates, years) => {
  const last = dates.at(-1);
  return years === 0 || last === undefined ? undefined : `${Number(last.slice(0, 4)) - years}${last.slice(4)}`;
};

/**
 * @template {string | number} Value
 * @param {{ legend: string, name: string, choices: readonly (readonly [value: Value, label: string])[], value: Value,
 *   onchange: (value: Value) => void }} options
 */
export const choice = ({ legend, name, choices, value, onchange }) =>
  h(
    'fieldset',
    { class: 'choice' },
    h('legend', legend),
    ...choices.map(([each, label]) =>
      h(
        'label',
        h('input', { type: 'radio', name, value: each, checked: each === value, onchange: () => onchange(each) }),
        h('span', label),
      ),
    ),
  );

/** @param {number} years @param {readonly string[]} dates @param {(years: number) => void} onchange */
export const spanChoice = (years, dates, onchange) =>
  choice({
    legend: 'Years shown',
    name: 'span',
    choices: SPANS.map((span) => [span, span === 0 ? 'All' : `${span} years`]),
    value: SPANS.includes(years) && `${lastYears(dates, years)}` > `${dates[0]}` ? years : 0,
    onchange,
  });

/**
 * @param {string} id @param {string} label @param {readonly (readonly [value: string, text: string])[]} options
 * @param {string} value @param {(value: string) => void} onchange
 */
export const labelledSelect = (id, label, options, value, onchange) => {
  const field = h(
    'select',
    { id, onchange: () => onchange(field.value) },
    ...options.map(([each, text]) => h('option', { value: each, selected: each === value }, text)),
  );
  return [h('label', { for: id }, label), field];
};

/** @param {Parameters<typeof labelledSelect>} list */
export const select = (...list) => h('div', { class: 'check' }, ...labelledSelect(...list));

/** @param {string} id @param {string} label @param {boolean} checked @param {(checked: boolean) => void} onchange */
export const checkBox = (id, label, checked, onchange) => {
  const box = h('input', { type: 'checkbox', id, checked, onchange: () => onchange(box.checked) });
  return { box, element: h('div', { class: 'check' }, box, h('label', { for: id }, label)) };
};
