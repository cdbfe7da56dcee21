import { getKey, Problem } from '../shared/api.js';
import { find, h } from '../shared/dom.js';
import { loadAdvice } from '../shared/load-errors.js';
import { problemTitle, problemView } from '../shared/problems.js';
import { addressOf, readAddress, setHome } from './address.js';

/**
 * @typedef {object} View
 * @property {string} title the main finding, as a sentence
 * @property {string} [name] short name for the title of the browser tab. Default: `title`
 * @property {import('../shared/dom.js').Child} [question] the question that the view answers
 * @property {import('../shared/dom.js').Child[]} content
 * @property {import('../shared/dom.js').Children[]} [about] sources of the figures, shown below the content
 * @property {string} [layout] CSS class for the content
 * @property {readonly string[]} [ignored] parameters of the address that the view does not have
 * @property {readonly string[]} [series] ids of the series shown, used to look up attributions and overdue data
 *
 * @typedef {(parameters: string[], signal: AbortSignal, query: URLSearchParams) => Promise<View>} Route `signal` is
 *   aborted when the user leaves the view; `query` contains the user's choices
 * @typedef {(series: readonly string[], signal: AbortSignal) => Promise<{ notes: readonly string[], late: string }>} About
 */

/** @template Module @param {() => Promise<Module>} load @returns {Promise<Module>} @throws {Problem} */
export const loadModule = (load) =>
  load().catch((error) => {
    if (!(error instanceof TypeError)) throw error;
    throw new Problem(loadAdvice(), { status: 0, code: 'not_loaded' });
  });

/** @param {() => Promise<Route>} load @returns {Route} */
export const lazyView =
  (load) =>
  async (...call) =>
    (await loadModule(load))(...call);

let current = new AbortController();
let site = '';

/** @param {string} name */
export const nameTab = (name) => {
  site ||= document.title;
  document.title = `${name} – ${site}`;
};

/** @param {string} text */
const announce = (text) => {
  find('#announcement').textContent = text;
};

/** @param {string} name */
const markCurrent = (name) => {
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#/${name}`) {
      link.setAttribute('aria-current', 'page');
      // On phones, the navigation is a single line that scrolls, so the current link can be outside the visible part.
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    } else link.removeAttribute('aria-current');
  }
};

const SCROLLING = '[data-scrolls]';

/** Stores scroll positions in the history entry, so that Back and a reload restore them. */
const keepScroll = () => {
  const inner = document.querySelector(SCROLLING)?.scrollTop ?? 0;
  history.replaceState({ ...history.state, top: scrollY, inner }, '');
};

const restoreScroll = () => {
  const { top = 0, inner = 0 } = history.state ?? {};
  const scrolling = document.querySelector(SCROLLING);
  if (scrolling) scrolling.scrollTop = inner;
  scrollTo(0, top);
};

/**
 * An embedded page shows only the figure with this name, or the first figure if no figure has the name. Other pages
 * scroll to the figure.
 * @param {string | null} name
 */
const showFigure = (name) => {
  const figures = [...document.querySelectorAll('main figure')];
  const named = name === null ? undefined : figures.find(({ id }) => id === name);
  if (document.body.matches('.embedded')) {
    for (const figure of figures) figure.toggleAttribute('hidden', figure !== (named ?? figures[0]));
  } else if (!history.state?.top) named?.scrollIntoView();
};

/** A page in a frame must not take the focus from the outer page or scroll it. */
const isFramed = () => window !== window.top;

/** @param {string} title @param {string} [question] */
export const retitle = (title, question) => {
  find('main h1').textContent = title;
  if (question !== undefined) find('main .question').textContent = question;
  announce(title);
};

/** @param {NonNullable<View['about']>} parts */
const aboutFigures = (parts) =>
  h(
    'p',
    { class: 'facts muted' },
    h('b', 'About these figures'),
    ...parts.flatMap((part, index) => [index === 0 ? ': ' : ' · ', part].flat()),
  );

/** @param {readonly string[]} ignored */
const ignoredNote = (ignored) => {
  const names = ignored.map((name) => `“${name}”`).join(', ');
  const text = `The address contains ${names}, which this view does not know. All other choices apply.`;
  return names === '' ? null : h('p', { role: 'alert' }, text);
};

/** @param {View} view @param {{ notes: readonly string[], late: string }} series */
const render = ({ title, name = title, question, layout, content, about, ignored = [] }, { notes, late }) => {
  const heading = h('h1', { tabindex: '-1' }, title);
  const main = find('#main');
  main.replaceChildren(
    h(
      'div',
      { class: 'head' },
      heading,
      question ? h('p', { class: 'question' }, question) : null,
      late ? h('p', { class: 'overdue' }, late) : null,
      ignoredNote(ignored),
    ),
    h('div', { class: layout }, ...content),
    about ? aboutFigures(about) : '',
  );
  find('#notes').replaceChildren(...notes.map((note) => h('p', note)));
  main.removeAttribute('aria-busy');
  nameTab(name);
  announce(title);
  const forget = document.querySelector('#forget');
  if (forget instanceof HTMLElement) forget.hidden = getKey() === '';
  return heading;
};

/** @param {unknown} error @param {() => void} retry @returns {View} */
const problemAsView = (error, retry) => ({
  title: problemTitle(error),
  content: [problemView(error, retry, { titled: true })],
});

/** Shows an error that prevents a page from starting its router. @param {unknown} error @param {() => void} retry */
export const showProblem = (error, retry) => render(problemAsView(error, retry), { notes: [], late: '' });

/** @param {AbortSignal} signal @returns {() => void} */
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

/** @param {() => boolean} isSettled */
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
 * @param {Record<string, Route>} routes by the first part of the fragment
 * @param {string} home the route for an empty fragment
 * @param {About} [about] returns the attributions of the series in a view, and a message about overdue data
 */
export const startRouter = (routes, home, about) => {
  history.scrollRestoration = 'manual';
  setHome(home);
  let settled = false;

  /** @param {string} name @param {Parameters<Route>} call @returns {Promise<View>} */
  const viewOf = async (name, call) => {
    try {
      const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
      if (!route) throw new Problem('There is no such view.', { status: 404, code: 'no_view' });
      return await route(...call);
    } catch (error) {
      // When the user leaves a view, its requests are aborted. The resulting errors are not shown.
      if (call[1].aborted) return { title: '', content: [] };
      return problemAsView(error, () => void show(true));
    }
  };
  /** @param {boolean} moved */
  const show = async (moved) => {
    current.abort();
    current = new AbortController();
    settled = false;
    const { signal } = current;
    const { parts, query } = readAddress();
    const [name = '', ...parameters] = parts;
    markCurrent(name);
    const loaded = showLoading(signal);
    const view = await viewOf(name, [parameters, signal, query]);
    // The attributions are loaded before the view is shown. If they appeared later, the content would move.
    const series = (await about?.(view.series ?? [], signal)) ?? { notes: [], late: '' };
    loaded();
    if (signal.aborted) return;
    const heading = render(view, series);
    const field = document.querySelector('#main #key');
    if (!isFramed() && field instanceof HTMLElement) field.focus();
    else if (!isFramed() && moved) heading.focus({ preventScroll: true });
    restoreScroll();
    showFigure(query.get('figure'));
    settled = true;
  };

  // The search form of the front page sends `?q=`. Views read only the fragment, so `q` moves to the fragment.
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
