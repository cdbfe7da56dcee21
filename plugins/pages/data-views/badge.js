/** Shows signals, grades and states as labels with a colour. The map and the charts use the same colours. */
import { h } from '../shared/dom.js';

/** The colours of labels, as class names in the style sheet. Labels that are not listed have a neutral colour. */
const TONES = new Map([
  ...[...'ABCDF'].map((grade, index) => /** @type {const} */ ([grade, `grade-${index + 1}`])),
  ['expand', 'rise'],
  ['contract', 'fall'],
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
