import { find, h } from '../../../core/pages/shared/dom.js';
import { linkTo, placeOf } from './parts.js';

/** @import { Model } from './model.js' */

/**
 * Distance of the reading line from the top of the window, in pixels. The contents mark the section whose heading is
 * the last one above the line.
 */
const READING_LINE = 140;

/** @param {string} title @param {readonly (readonly [place: string, text: string, code?: boolean])[]} links */
const list = (title, links) =>
  h(
    'div',
    { class: 'group' },
    h('p', { class: 'label' }, title),
    h(
      'ul',
      ...links.map(([place, text, code]) => h('li', h('a', { href: linkTo(place) }, code ? h('code', text) : text))),
    ),
  );

/** @param {Model} model */
export const contentsOf = ({ groups, changes }) => [
  list('Start', [
    [placeOf('introduction'), 'Introduction'],
    [placeOf('authentication'), 'Authentication'],
  ]),
  ...groups.map(({ name, operations }) =>
    list(
      name,
      operations.map(({ id, path }) => [placeOf(id), path, true]),
    ),
  ),
  list('For all endpoints', [
    [placeOf('errors'), 'Errors'],
    [placeOf('headers'), 'Response headers'],
    ...(changes.length > 0 ? [/** @type {const} */ ([placeOf('changes'), 'Changes'])] : []),
  ]),
];

/** @param {HTMLElement} nav @param {HTMLElement} link */
const reveal = (nav, link) => {
  const { top, bottom } = link.getBoundingClientRect();
  const box = nav.getBoundingClientRect();
  if (top < box.top + 40) nav.scrollTop -= box.top + 40 - top;
  else if (bottom > box.bottom - 40) nav.scrollTop += bottom - box.bottom + 40;
};

/** Marks the current part in the contents, and adds it to the address so that a reload returns to it. */
export const followReading = () => {
  const nav = find('#contents');
  const parts = [...document.querySelectorAll('[data-part]')];
  const links = new Map([...nav.querySelectorAll('a')].map((link) => [link.getAttribute('href'), link]));
  let current = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let naming;
  const name = () => {
    const here = decodeURIComponent(location.hash.slice(1));
    // An address that refers to an element inside the current section is kept, because it is more precise.
    if (here === current || here.startsWith(`${current}/`)) return;
    history.replaceState(history.state, '', linkTo(current));
  };
  const mark = () => {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const read = atEnd ? parts.at(-1) : parts.findLast((part) => part.getBoundingClientRect().top <= READING_LINE);
    const place = (read ?? parts[0])?.id ?? '';
    if (place === current) return;
    links.get(linkTo(current))?.removeAttribute('aria-current');
    const first = current === '';
    current = place;
    const link = links.get(linkTo(place));
    link?.setAttribute('aria-current', 'location');
    if (link) reveal(nav, link);
    clearTimeout(naming);
    const { hash } = location;
    naming = first
      ? undefined
      : setTimeout(() => {
          if (location.hash === hash) name();
        }, 300);
  };
  let asked = false;
  addEventListener(
    'scroll',
    () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        mark();
      });
    },
    { passive: true },
  );
  addEventListener('resize', mark);
  mark();
};

export const startDrawer = () => {
  const button = find('#open-contents');
  const side = find('#side');
  const isOpen = () => button.getAttribute('aria-expanded') === 'true';
  const set = (/** @type {boolean} */ open) => {
    button.setAttribute('aria-expanded', String(open));
    side.classList.toggle('open', open);
    document.documentElement.classList.toggle('covered', open);
  };
  button.addEventListener('click', () => {
    set(!isOpen());
    if (isOpen())
      /** @type {HTMLElement | null} */ (side.querySelector('a[aria-current]') ?? side.querySelector('a'))?.focus();
  });
  side.addEventListener('click', ({ target }) => {
    if (target === side || (target instanceof Element && target.closest('a'))) set(false);
  });
  addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !isOpen()) return;
    set(false);
    button.focus();
  });
  side.addEventListener('focusout', ({ relatedTarget }) => {
    if (isOpen() && relatedTarget instanceof Node && !side.contains(relatedTarget) && relatedTarget !== button)
      set(false);
  });
};
