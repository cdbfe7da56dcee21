/** Finds parts of the reference and of its guides, and views of other pages. `/` goes to the box, Enter to what is found. */
import { find, focusOnSlash, h } from '../../pages/shared/dom.js';
import { plain } from '../../pages/shared/format.js';
import { headingId } from '../../pages/shared/markdown.js';
import { linkTo, placeOf } from './parts.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./model.js').Field} Field */
/** @typedef {{ kind: string, name: string, where: string, text: string, href: string, rank: number }} Entry */

const SHOWN = 12;
/** Of fields with one name, so that a name which every list has leaves room for others. */
const SHOWN_OF_ONE_NAME = 3;

/** @param {string} text */
const wordsOf = (text) =>
  plain(text)
    .split(/[^\p{L}\p{N}_]+/u)
    .filter(Boolean);

/** @param {string} place @param {readonly Field[]} fields @returns {{ place: string, field: Field }[]} */
const allFields = (place, fields) =>
  fields.flatMap((field) => {
    const own = `${place}/${field.name}`;
    return [{ place: own, field }, ...allFields(own, field.children)];
  });

/** @param {Model} model @returns {Entry[]} */
const entriesOf = ({ groups, operations, errors, headers, changes }) => [
  ...[
    { name: 'Introduction', where: 'Conventions, base URL, contact', place: 'introduction' },
    { name: 'Authentication', where: 'API key', place: 'authentication' },
    { name: 'Errors', where: 'Status, sentence and code', place: 'errors' },
    { name: 'Response headers', where: '', place: 'headers' },
    ...(changes.length > 0 ? [{ name: 'Changes', where: 'Versions of the API', place: 'changes' }] : []),
  ].map(({ name, where, place }) => ({ kind: 'part', name, where, text: '', href: linkTo(placeOf(place)), rank: 20 })),
  ...operations.map(({ id, path, group, summary, description }) => ({
    kind: 'endpoint',
    name: path,
    where: summary,
    text: `${id} ${group} ${groups.find(({ name }) => name === group)?.description} ${description}`,
    href: linkTo(placeOf(id)),
    rank: 3,
  })),
  ...operations.flatMap(({ id, path, parameters, fields }) => [
    ...parameters.map(({ name, description, limits }) => ({
      kind: 'parameter',
      name,
      where: path,
      text: `${description} ${limits}`,
      href: linkTo(placeOf(id, 'parameters', name)),
      rank: 1,
    })),
    ...allFields(placeOf(id, 'fields'), fields).map(({ place, field: { name, description, limits } }) => ({
      kind: 'field',
      name,
      where: path,
      text: `${description} ${limits}`,
      href: linkTo(place),
      rank: 0,
    })),
  ]),
  ...errors.map(({ code, status, when }) => ({
    kind: 'error',
    name: code,
    where: when,
    text: status,
    href: linkTo(placeOf('errors', code)),
    rank: 2,
  })),
  ...headers.map(({ name, description }) => ({
    kind: 'header',
    name,
    where: description,
    text: '',
    href: linkTo(placeOf('headers', name)),
    rank: 2,
  })),
];

/** The headings of the guides, of which each is a file below its page. @returns {Promise<Entry[]>} */
const guideEntries = async () => {
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('#guides a')]);
  const guides = links.map(async (link) => {
    const guide = link.textContent ?? '';
    const response = await fetch(`${link.href}/guide.md`);
    const text = response.ok ? await response.text() : '';
    const headings = [...text.replace(/^```.*?^```/gms, '').matchAll(/^##+ (.+)$/gm)].map(
      ([, heading = '']) => heading,
    );
    return [
      { kind: 'guide', name: guide, where: '', text: '', href: link.href, rank: 2 },
      ...headings.map((name) => ({
        kind: 'guide',
        name,
        where: guide,
        text: '',
        href: `${link.href}#${headingId(name)}`,
        rank: 2,
      })),
    ];
  });
  return (await Promise.all(guides)).flat();
};

/** The other pages of the service, and the views that their navigation links to. @returns {Promise<Entry[]>} */
const pageEntries = async () => {
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('.top .end a')]);
  const pages = links.map(async (link) => {
    const page = link.textContent ?? '';
    const response = await fetch(link.href);
    const text = response.ok ? await response.text() : '';
    // The page's policy lets no text become a document.
    const views = [...text.matchAll(/<a href="(#\/[^"]+)"(?: title="([^"]*)")?>([^<]+)<\/a>/g)];
    return [
      { kind: 'page', name: page, where: '', text: '', href: link.href, rank: 2 },
      ...views.map(([, view = '', title = '', name = '']) => ({
        kind: 'page',
        name: `${page}: ${name}`,
        where: title,
        text: '',
        href: `${link.href}${view}`,
        rank: 2,
      })),
    ];
  });
  return (await Promise.all(pages)).flat();
};

/** @param {readonly Entry[]} entries @param {string} query @returns {Entry[]} best first */
export const search = (entries, query) => {
  const asked = wordsOf(query);
  const whole = plain(query.trim());
  if (asked.length === 0) return [];
  /** @param {Entry} entry */
  const score = ({ name, where, text, rank }) => {
    const names = wordsOf(name);
    const others = wordsOf(where);
    const more = wordsOf(text);
    let total = rank;
    for (const word of asked) {
      if (names.includes(word)) total += 30;
      else if (names.some((one) => one.startsWith(word))) total += 20;
      else if (plain(name).includes(word)) total += 12;
      else if (others.some((one) => one.startsWith(word))) total += 8;
      else if (more.some((one) => one.startsWith(word))) total += 4;
      else return 0;
    }
    // Of two that fit alike, the shorter name is the one that was meant.
    return total + (plain(name) === whole ? 40 : 0) - name.length / 100;
  };
  /** @type {Map<string, number>} */
  const counts = new Map();
  return entries
    .map((entry) => ({ entry, total: score(entry) }))
    .filter(({ total }) => total > 0)
    .sort((a, b) => b.total - a.total)
    .map(({ entry }) => entry)
    .filter(({ kind, name }) => {
      const count = (counts.get(`${kind} ${name}`) ?? 0) + 1;
      counts.set(`${kind} ${name}`, count);
      return count <= SHOWN_OF_ONE_NAME;
    })
    .slice(0, SHOWN);
};

/** @param {Model} model @param {() => void} aim called when the address already names what was chosen */
export const startSearch = (model, aim) => {
  const input = /** @type {HTMLInputElement} */ (find('#search'));
  const list = find('#found');
  const note = find('#found-note');
  let entries = entriesOf(model);
  /** @type {Entry[]} */
  let found = [];
  let chosen = 0;
  let asked = false;

  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const mark = () => {
    for (const [index, option] of [...list.children].entries()) {
      option.setAttribute('aria-selected', String(index === chosen));
      if (index === chosen) option.scrollIntoView({ block: 'nearest' });
    }
    input.setAttribute('aria-activedescendant', `found-${chosen}`);
  };
  const go = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return;
    close();
    input.blur();
    const same = location.hash === entry.href;
    location.href = entry.href;
    if (same) aim();
  };
  const look = () => {
    const query = input.value;
    found = search(entries, query);
    chosen = 0;
    list.replaceChildren(
      ...found.map((entry, index) => {
        const { kind, name, where } = entry;
        const option = h(
          'div',
          { id: `found-${index}`, class: 'found', role: 'option', 'aria-selected': 'false' },
          h('span', { class: 'kind' }, kind),
          h('span', { class: 'what' }, name, where ? h('span', { class: 'where' }, where) : null),
        );
        // Before the box loses the focus.
        option.addEventListener('pointerdown', (event) => event.preventDefault());
        option.addEventListener('click', () => go(entry));
        return option;
      }),
    );
    note.textContent = query.trim() === '' ? '' : `${found.length === 0 ? 'Nothing' : found.length} found`;
    if (found.length === 0) {
      if (query.trim() === '') return close();
      list.replaceChildren(
        h(
          'div',
          { class: 'found', role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false' },
          `Nothing is called “${query.trim()}”.`,
        ),
      );
      list.hidden = false;
      return;
    }
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    mark();
  };

  input.addEventListener('focus', () => {
    if (!asked) {
      asked = true;
      Promise.all([guideEntries(), pageEntries()]).then(
        (more) => {
          entries = [...entries, ...more.flat()];
          if (input.value !== '' && document.activeElement === input) look();
        },
        () => {
          asked = false;
        },
      );
    }
    if (input.value.trim() !== '') look();
  });
  input.addEventListener('input', look);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape' && !list.hidden) {
      event.preventDefault();
      close();
    } else if (step !== undefined && !list.hidden && found.length > 0) {
      event.preventDefault();
      chosen = (chosen + step + found.length) % found.length;
      mark();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (list.hidden) look();
      go(found[chosen]);
    }
  });
  focusOnSlash(input);
};
