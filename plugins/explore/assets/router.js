/** Shows the view that the address after `#` names, and its waiting, empty and error states. */
import { getKey, Problem } from './api.js';
import { notesOf } from './catalog.js';
import { find, h } from './dom.js';
import { problemView } from './problems.js';

/**
 * @typedef {object} View
 * @property {string} title
 * @property {import('./dom.js').Child[]} content what stands below the heading
 * @property {readonly string[]} [series] whose notes (attributions) belong below it
 *
 * @typedef {(parameters: string[], signal: AbortSignal) => Promise<View>} Route the signal ends with the view
 */

let current = new AbortController();

/** @param {string} text */
const announce = (text) => {
  find('#announcement').textContent = text;
};

/** @param {string} name */
const markCurrent = (name) => {
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#/${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
};

/** @returns {string[]} the parts of the address, decoded: `#/markets/26420` is `['markets', '26420']` */
const address = () => {
  try {
    return location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  } catch {
    return ['nowhere'];
  }
};

/** @param {unknown} error */
const titleOf = (error) => {
  if (!(error instanceof Problem)) return 'Fault';
  return error.status === 401 ? 'Key needed' : error.status === 404 ? 'Not found' : 'Problem';
};

/**
 * @param {Record<string, Route>} routes by the first part of the address
 * @param {string} home the one of an empty address
 */
export const startRouter = (routes, home) => {
  const main = find('#main');

  /** @param {boolean} moved whether the reader went there, so that the focus goes along */
  const show = async (moved) => {
    current.abort();
    current = new AbortController();
    const { signal } = current;
    const [name = '', ...parameters] = address();
    const route = routes[name || home];
    markCurrent(name || home);
    main.setAttribute('aria-busy', 'true');
    announce('Loading');
    const slow = setTimeout(() => main.replaceChildren(h('p', { class: 'muted' }, 'Loading …')), 300);
    signal.addEventListener('abort', () => clearTimeout(slow));
    /** @type {View} */
    let view;
    try {
      if (!route) throw new Problem('There is no such view.', { status: 404, code: 'no_view' });
      view = await route(parameters, signal);
    } catch (error) {
      // The reader went elsewhere: nobody waits for this view.
      if (signal.aborted) return;
      view = { title: titleOf(error), content: [problemView(error, () => void show(true))] };
    }
    clearTimeout(slow);
    if (signal.aborted) return;
    const heading = h('h1', { tabindex: '-1' }, view.title);
    main.replaceChildren(heading, h('div', {}, ...view.content));
    main.removeAttribute('aria-busy');
    document.title = `${view.title} – Explorer`;
    announce(view.title);
    find('#forget').hidden = getKey() === '';
    const field = main.querySelector('#key');
    if (field instanceof HTMLElement) field.focus();
    else if (moved) heading.focus();
    if (moved) scrollTo(0, 0);
    const notes = await notesOf(view.series ?? [], signal);
    if (!signal.aborted) find('#notes').replaceChildren(...notes.map((note) => h('p', {}, note)));
  };

  addEventListener('hashchange', () => void show(true));
  addEventListener('keychange', () => void show(true));
  void show(false);
};
