/** Shows the view that the address names after `#`, and the loading and error states. */

import { getKey, Problem } from '../shared/api.js';
import { find, h } from '../shared/dom.js';
import { problemView } from '../shared/problems.js';
import { addressOf, readAddress } from './address.js';

/**
 * @typedef {object} View
 * @property {string} title the main finding, as a sentence
 * @property {string} [name] of the view, for the title of the browser's tab. Default: `title`
 * @property {string} [question] that the view answers
 * @property {import('../shared/dom.js').Child[]} content below the heading
 * @property {import('../shared/dom.js').Children[]} [about] the origin of the figures, below the content
 * @property {string} [layout] a class of the style sheet
 * @property {readonly string[]} [series] series with notes (attributions) and an age to show
 *
 * @typedef {(parameters: string[], signal: AbortSignal, query: URLSearchParams) => Promise<View>} Route the signal is
 *   aborted when the view ends; `query` has the reader's choices
 * @typedef {(series: readonly string[], signal: AbortSignal) => Promise<{ notes: readonly string[], late: string }>} About
 */

/**
 * Returns a view whose modules the browser loads when the view is first shown.
 * @param {() => Promise<Route>} load
 * @returns {Route}
 */
export const lazyView =
  (load) =>
  async (...call) => {
    const view = await load().catch((error) => {
      if (!(error instanceof TypeError)) throw error;
      throw new Problem('This view cannot be loaded.', { status: 0, code: 'unreachable' });
    });
    return view(...call);
  };

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
      // On a phone, the links are on one line that scrolls.
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    } else link.removeAttribute('aria-current');
  }
};

/** @param {unknown} error */
const titleOf = (error) => {
  if (!(error instanceof Problem)) return 'Error';
  return error.status === 401 ? 'Key needed' : error.status === 404 ? 'Not found' : 'Problem';
};

/** Lists that scroll inside the page. */
const SCROLLING = '[data-scrolls]';

/** Stores the scroll position in the history entry, for Back and reload. */
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
 * Scrolls to the figure that the address names. A frame shows only that figure.
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
 * Whether the page is in a frame. In a frame, it must not change the focus or the scroll position of the outer page.
 */
const isFramed = () => window !== window.top;

/** Changes the title and the question of the view. @param {string} title @param {string} question */
export const retitle = (title, question) => {
  find('main h1').textContent = title;
  find('main .question').textContent = question;
};

/** @param {NonNullable<View['about']>} parts */
const aboutFigures = (parts) =>
  h(
    'p',
    { class: 'facts muted' },
    h('b', {}, 'About these figures'),
    ...parts.flatMap((part, index) => [index === 0 ? ': ' : ' · ', part].flat()),
  );

/** @param {View} view @param {string} site @param {{ notes: readonly string[], late: string }} series */
const render = ({ title, name = title, question, layout, content, about }, site, { notes, late }) => {
  const heading = h('h1', { tabindex: '-1' }, title);
  const main = find('#main');
  main.replaceChildren(
    h(
      'div',
      { class: 'head' },
      heading,
      question ? h('p', { class: 'question' }, question) : null,
      late ? h('p', { class: 'overdue' }, late) : null,
    ),
    h('div', { class: layout }, ...content),
    about ? aboutFigures(about) : '',
  );
  find('#notes').replaceChildren(...notes.map((note) => h('p', {}, note)));
  main.removeAttribute('aria-busy');
  document.title = `${name} – ${site}`;
  announce(title);
  const forget = document.querySelector('#forget');
  if (forget instanceof HTMLElement) forget.hidden = getKey() === '';
  return heading;
};

/**
 * Shows a placeholder if a view takes longer than 300 ms to load.
 * @param {AbortSignal} signal of the view
 * @returns {() => void} stops it
 */
const showLoading = (signal) => {
  const main = find('#main');
  main.setAttribute('aria-busy', 'true');
  announce('Loading');
  const slow = setTimeout(() => {
    const bars = ['h1', 'p', 'div'].map((part) => h('span', { class: `bone ${part}` }));
    main.replaceChildren(h('div', { class: 'skeleton', 'aria-hidden': 'true' }, ...bars));
  }, 300);
  const stop = () => clearTimeout(slow);
  signal.addEventListener('abort', stop);
  return stop;
};

/** Remembers the scroll position of each view for Back and reload. @param {() => boolean} isSettled */
const followScroll = (isSettled) => {
  /** @type {ReturnType<typeof setTimeout>} */
  let waiting;
  const scrolled = () => {
    clearTimeout(waiting);
    if (isSettled()) waiting = setTimeout(() => isSettled() && keepScroll(), 100);
  };
  addEventListener('scroll', scrolled, { capture: true, passive: true });
  addEventListener('hashchange', () => clearTimeout(waiting));
};

/**
 * @param {Record<string, Route>} routes by the first part of the address
 * @param {string} home the route of an empty address
 * @param {About} [about] returns the notes and the age of a view's series
 */
export const startRouter = (routes, home, about) => {
  const site = document.title;
  history.scrollRestoration = 'manual';
  let settled = false;

  /** @param {string} name @param {Parameters<Route>} call @returns {Promise<View>} */
  const viewOf = async (name, call) => {
    try {
      const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
      if (!route) throw new Problem('There is no such view.', { status: 404, code: 'no_view' });
      return await route(...call);
    } catch (error) {
      // Errors from requests that were aborted with the view are not shown.
      if (call[1].aborted) return { title: '', content: [] };
      return { title: titleOf(error), content: [problemView(error, () => void show(true))] };
    }
  };
  /** @param {boolean} moved whether the reader went to another view, which then gets the focus */
  const show = async (moved) => {
    current.abort();
    current = new AbortController();
    settled = false;
    const { signal } = current;
    const { parts, query } = readAddress();
    const [name = '', ...parameters] = parts;
    markCurrent(name || home);
    const loaded = showLoading(signal);
    const view = await viewOf(name || home, [parameters, signal, query]);
    // Text that was added later would move the view.
    const series = (await about?.(view.series ?? [], signal)) ?? { notes: [], late: '' };
    loaded();
    // The reader has opened another view in the meantime.
    if (signal.aborted) return;
    const heading = render(view, site, series);
    const field = document.querySelector('#main #key');
    if (!isFramed() && field instanceof HTMLElement) field.focus();
    else if (!isFramed() && moved) heading.focus({ preventScroll: true });
    restoreScroll();
    showFigure(query.get('figure'));
    settled = true;
  };

  // The search on the front page is a form, which sends the text in the query of the URL.
  const q = new URLSearchParams(location.search).get('q');
  if (q !== null) {
    const hash = q === '' ? location.hash : addressOf([home], new URLSearchParams({ q }));
    history.replaceState(history.state, '', `${location.pathname}${hash}`);
  }
  followScroll(() => settled);
  addEventListener('hashchange', () => void show(true));
  addEventListener('keychange', () => void show(true));
  void show(false);
};
