import { h } from '../shared/dom.js';

/** Colours of labels, as CSS classes. Labels that are not in the map are neutral. */
const TONES = new Map([
  ...[...'ABCDF'].map((grade, index) => /** @type {const} */ ([grade, `grade-${index + 1}`])),
  ['expand', 'rise'],
  ['hold', 'even'],
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
