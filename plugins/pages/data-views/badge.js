/** Shows signals, grades and states as coloured labels. */
import { h } from '../shared/dom.js';

/** The tones of labels. Labels that are not listed have a neutral colour. */
const TONES = new Map([
  ['expand', 'good'],
  ['contract', 'bad'],
  ['A', 'good'],
  ['B', 'good'],
  ['D', 'warn'],
  ['F', 'bad'],
  ['operational', 'good'],
  ['degraded', 'warn'],
  ['outage', 'bad'],
  ['fresh', 'good'],
  ['late', 'warn'],
  ['stale', 'bad'],
]);

/** @param {string | null} label a signal, grade or state */
export const badge = (label) =>
  label === null ? h('span', { class: 'muted' }, '–') : h('span', { class: `badge ${TONES.get(label) ?? ''}` }, label);
