/** Shows the view that the address after `#` names, and its waiting, empty and error states. */

import { getKey, Problem } from '../shared/api.js';
import { find, h } from '../shared/dom.js';
import { problemView } from '../shared/problems.js';
import { readAddress } from './address.js';

/**
 * @typedef {object} View
 * @property {string} title
 * @property {import('../shared/dom.js').Child[]} content what stands below the heading
 * @property {import('../shared/dom.js').Child[]} [aside] what stands beside the heading
 * @property {string} [layout] a class of the style sheet
 * @property {readonly string[]} [series] whose notes (attributions) belong below it, and whose age above it
 *
 * @typedef {(parameters: string[], signal: AbortSignal, query: URLSearchParams) => Promise<View>} Route the signal ends
 *   with the view; `query` is what the address says of the reader's choices
 * @typedef {(series: readonly string[], signal: AbortSignal) => Promise<{ notes: readonly string[], late: string }>} About
 */

let current = new AbortController();

/** @param {string} text */
const announce = (text) => {
  find('#announcement').textContent = text;
};

/** @param {string} name */
const markCurrent = (name) => {
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#/${name}`) {
      link.setAttribute('aria-current', 'page');
      // On a phone the views are a line that scrolls.
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    } else link.removeAttribute('aria-current');
  }
};

/** @param {unknown} error */
const titleOf = (error) => {
  if (!(error instanceof Problem)) return 'Fault';
  return error.status === 401 ? 'Key needed' : error.status === 404 ? 'Not found' : 'Problem';
};

/** What scrolls beside the page itself: the list of the start page. */
const SCROLLING = '[data-scrolls]';

/** Notes in the history entry how far the reader has scrolled, for Back and reload. */
const keepScroll = () => {
  const inner = document.querySelector(SCROLLING)?.scrollTop ?? 0;
  history.replaceState({ top: scrollY, inner }, '');
};

const restoreScroll = () => {
  const { top = 0, inner = 0 } = history.state ?? {};
  const scrolling = document.querySelector(SCROLLING);
  if (scrolling) scrolling.scrollTop = inner;
  scrollTo(0, top);
};

/**
 * Goes to the figure that the address names; in a frame, which has room for one, hides the others.
 * @param {string | null} name
 */
const showFigure = (name) => {
  const figures = [...document.querySelectorAll('main figure')];
  const named = name === null ? undefined : figures.find(({ id }) => id === name);
  if (document.body.matches('.embedded')) {
    for (const figure of figures) figure.toggleAttribute('hidden', figure !== (named ?? figures[0]));
  } else if (!history.state?.top) named?.scrollIntoView();
};

/**
 * @param {Record<string, Route>} routes by the first part of the address
 * @param {string} home the one of an empty address
 * @param {About} [about] tells of a view's series what stands below it, and that their data is late
 */
export const startRouter = (routes, home, about) => {
  const main = find('#main');
  const site = document.title;
  history.scrollRestoration = 'manual';
  let settled = false;

  /** @param {boolean} moved whether the reader went there, so that the focus goes along */
  const show = async (moved) => {
    current.abort();
    current = new AbortController();
    settled = false;
    const { signal } = current;
    const { parts, query } = readAddress();
    const [name = '', ...parameters] = parts;
    const route = Object.hasOwn(routes, name || home) ? routes[name || home] : undefined;
    markCurrent(name || home);
    main.setAttribute('aria-busy', 'true');
    announce('Loading');
    const slow = setTimeout(() => main.replaceChildren(h('p', { class: 'muted' }, 'Loading …')), 300);
    signal.addEventListener('abort', () => clearTimeout(slow));
    /** @type {View} */
    let view;
    try {
      if (!route) throw new Problem('There is no such view.', { status: 404, code: 'no_view' });
      view = await route(parameters, signal, query);
    } catch (error) {
      // The reader went elsewhere: nobody waits for this view.
      if (signal.aborted) return;
      view = { title: titleOf(error), content: [problemView(error, () => void show(true))] };
    }
    clearTimeout(slow);
    if (signal.aborted) return;
    const heading = h('h1', { tabindex: '-1' }, view.title);
    const age = h('p', { class: 'overdue', hidden: true });
    const head = h('div', { class: 'head' }, heading, ...(view.aside ?? []), age);
    main.replaceChildren(head, h('div', { class: view.layout }, ...view.content));
    main.removeAttribute('aria-busy');
    document.title = `${view.title} – ${site}`;
    announce(view.title);
    const forget = document.querySelector('#forget');
    if (forget instanceof HTMLElement) forget.hidden = getKey() === '';
    const field = main.querySelector('#key');
    // A frame takes neither the focus nor the scroll of the page around it.
    if (window === window.top) {
      if (field instanceof HTMLElement) field.focus();
      else if (moved) heading.focus({ preventScroll: true });
    }
    restoreScroll();
    showFigure(query.get('figure'));
    settled = true;
    const { notes = [], late = '' } = (await about?.(view.series ?? [], signal)) ?? {};
    if (signal.aborted) return;
    find('#notes').replaceChildren(...notes.map((note) => h('p', {}, note)));
    age.textContent = late;
    age.hidden = late === '';
  };

  /** @type {ReturnType<typeof setTimeout>} */
  let waiting;
  const scrolled = () => {
    clearTimeout(waiting);
    if (settled) waiting = setTimeout(() => settled && keepScroll(), 100);
  };
  addEventListener('scroll', scrolled, { capture: true, passive: true });
  addEventListener('hashchange', () => {
    clearTimeout(waiting);
    void show(true);
  });
  addEventListener('keychange', () => void show(true));
  void show(false);
};
