import { h } from '../shared/dom.js';
import { paint } from './svg.js';

const TONES = new Map([
  ...[...'ABCDF'].map((grade, index) => /** @type {const} */ ([grade, `grade-${index + 1}`])),
  ['expand', 'rise-5'],
  ['hold', 'even'],
  ['contract', 'fall-3'],
  ['operational', 'good'],
  ['degraded', 'warn'],
  ['outage', 'bad'],
  ['fresh', 'good'],
  ['late', 'warn'],
  ['stale', 'bad'],
]);

/** @param {string | null} label */
export const badge = (label) => {
  if (label === null) return h('span', { class: 'muted' }, '–');
  const element = h('span', { class: 'badge' }, label);
  const tone = TONES.get(label);
  // The content security policy forbids `style` attributes, so a script sets the style property.
  if (tone) element.style.setProperty('--tone', paint(tone));
  return element;
};
