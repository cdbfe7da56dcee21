import { copyButton, h } from '../../../core/pages/shared/dom.js';

/** @import { Child, Children } from '../../../core/pages/shared/dom.js' */

/** Joins the parts of an element id, such as `/listBooks/fields/isbn`. @param {...string} path */
export const placeOf = (...path) => `/${path.join('/')}`;

/** @param {string} place */
export const linkTo = (place) => `#${place.split('/').map(encodeURIComponent).join('/')}`;

/** @param {string} place @param {...Children} children */
export const nameLink = (place, ...children) => h('a', { class: 'name', href: linkTo(place) }, ...children);

/**
 * @param {{ place: string, title: string, level?: 'h2' | 'h3', id?: string }} heading @param {Children} text
 * @param {Children} [aside]
 */
export const section = ({ place, title, level = 'h2', id }, text, aside = []) =>
  h(
    'section',
    {
      id: place,
      class: `part ${level}${[aside].flat().length === 0 ? ' wide' : ''}`,
      'data-part': '',
      'aria-labelledby': id ?? `${place}/title`,
    },
    h('div', { class: 'text' }, h(level, { id: id ?? `${place}/title` }, nameLink(place, title)), text),
    [aside].flat().length === 0 ? null : h('div', { class: 'aside' }, aside),
  );

/** @param {string} legend @param {readonly { input: Node, text: string }[]} choices */
export const radios = (legend, choices) =>
  h(
    'fieldset',
    { class: 'languages' },
    h('legend', { class: 'hidden-text' }, legend),
    ...choices.map(({ input, text }) => h('label', input, h('span', text))),
  );

const KEYWORDS = new Set(
  ['import', 'from', 'const', 'await', 'if', 'not', 'throw', 'new', 'library', 'raise', 'print', 'curl'].concat([
    'true',
    'false',
    'null',
    'as',
  ]),
);
const TOKEN =
  /(https?:\/\/[^\s'"]+|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(\b[A-Za-z_]\w*\b)|(-?\b\d[\d.]*(?:[eE][+-]?\d+)?\b)/g;

/** @param {string} code @returns {Children} */
export const coloured = (code) => {
  /** @type {Child[]} */
  const parts = [];
  let end = 0;
  for (const { 0: token, 1: text, 2: word, index } of code.matchAll(TOKEN)) {
    const after = code.slice(index + token.length);
    const kind = text ? (/^\s*:/.test(after) ? 'key' : 'string') : word ? (KEYWORDS.has(word) ? 'word' : '') : 'number';
    if (kind === '') continue;
    parts.push(code.slice(end, index), h('span', { class: kind }, token));
    end = index + token.length;
  }
  return [...parts, code.slice(end)];
};

/** @param {unknown} example */
export const exampleText = (example) => (typeof example === 'string' ? example : JSON.stringify(example, null, 2));

/** @param {string} label @param {Children} head @param {Children} body */
export const panel = (label, head, body) =>
  h('div', { class: 'panel', role: 'group', 'aria-label': label }, h('div', { class: 'head' }, head), body);

/** @param {string} label @param {Children} title @param {string} code */
export const codePanel = (label, title, code) =>
  panel(label, [h('span', { class: 'title' }, title), copyButton(() => code)], codeBlock(label, coloured(code)));

/** @param {string} label @param {Children} code */
export const codeBlock = (label, code) =>
  h('pre', { tabindex: '0', role: 'group', 'aria-label': label }, h('code', code));

/** @param {string} title @param {Children} text */
export const problem = (title, text) =>
  panel('Response to your request', h('span', { class: 'status bad' }, title), h('p', { class: 'advice' }, text));

export const unreachable = () =>
  problem('No response', 'The service cannot be reached. Check that it is running, and try again.');
