/** The methodology as a page: its text, with the figures of the service's own snapshot. */
import { getKey, Problem } from './api.js';
import { find, h } from './dom.js';
import { figures } from './figures.js';
import { keyForm } from './key-form.js';
import { blocksOf } from './markdown.js';

const main = find('#main');

/** Fills each place once the service has answered, and asks for a key in the first one that needs it. */
const fill = async (
  /** @type {string} */ name,
  /** @type {HTMLElement} */ place,
  /** @type {() => void} */ askForKey,
) => {
  place.replaceChildren(h('p', { class: 'muted' }, 'Loading …'));
  try {
    const content = await figures[name]?.();
    place.replaceChildren(typeof content === 'string' ? h('p', { class: 'notice' }, content) : (content ?? ''));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const message = error.status === 401 ? 'These figures need an API key.' : error.message;
    place.replaceChildren(h('p', { class: 'notice' }, message));
    if (error.status === 401) askForKey();
  }
};

const show = async () => {
  const markdown = await (await fetch(new URL('methodology.md', import.meta.url))).text();
  const key = h('div');
  const places = /** @type {[string, HTMLElement][]} */ ([]);
  const content = blocksOf(markdown).map((block) => {
    if (block.kind === 'element') return block.element;
    const place = h('div', { 'data-figures': block.name });
    places.push([block.name, place]);
    return place;
  });
  main.replaceChildren(...content.slice(0, 1), key, ...content.slice(1));

  const fillAll = () => {
    key.replaceChildren();
    const problem = getKey() === '' ? {} : { problem: 'The service does not know this key.' };
    const askForKey = () => {
      if (key.childElementCount === 0) key.append(keyForm({ heading: "This service's own figures", ...problem }));
    };
    for (const [name, place] of places) fill(name, place, askForKey);
  };
  addEventListener('keychange', fillAll);
  fillAll();
};

show();
