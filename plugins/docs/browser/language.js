import { h } from '../../../core/pages/shared/dom.js';
import { radios } from './parts.js';
import { LANGUAGES } from './samples.js';

const KEY = 'reference-language';

const stored = () => {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
};

const known = (/** @type {string | null} */ name) =>
  name !== null && Object.hasOwn(LANGUAGES, name) ? name : undefined;

let chosen = known(new URLSearchParams(location.search).get('lang')) ?? known(stored()) ?? 'curl';

export const language = () => chosen;

/** @param {string} name */
const choose = (name) => {
  chosen = name;
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // Without access to storage, the chosen language lasts until the page is closed.
  }
  const address = new URL(location.href);
  address.searchParams.set('lang', name);
  history.replaceState(history.state, '', address);
  dispatchEvent(new Event('languagechange-of-samples'));
};

/** @param {() => void} listener */
export const onLanguage = (listener) => addEventListener('languagechange-of-samples', listener);

/** @param {string} name */
export const languageChoice = (name) => {
  const inputs = Object.entries(LANGUAGES).map(([value, { name: text }]) => {
    const input = h('input', { type: 'radio', name, value, checked: value === chosen });
    input.addEventListener('change', () => {
      // Another language can change the height of the samples above this control. The page is scrolled by the
      // difference, so that the control stays in place.
      const before = input.getBoundingClientRect().top;
      choose(value);
      scrollBy({ top: input.getBoundingClientRect().top - before, behavior: 'instant' });
    });
    return { input, text };
  });
  onLanguage(() => {
    for (const { input } of inputs) input.checked = input.value === chosen;
  });
  return radios('Language of the samples', inputs);
};
