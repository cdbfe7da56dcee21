import { showGuide } from '../../../../pages/guides/guide.js';
import { getJson, getKey, Problem } from '../../../../pages/shared/api.js';
import { h } from '../../../../pages/shared/dom.js';
import { keyForm } from '../../../../pages/shared/key-form.js';
import { showLoadError } from '../../../../pages/shared/load-errors.js';
import { blocksOf } from '../../../../pages/shared/markdown.js';
import { onceEach } from '../../../../pages/shared/once.js';
import { figures } from './figures.js';

const SOURCE =
  'The tables contain the figures of this service. The text describes FHFA’s 2025Q4 index and new home sales since 1980.';

const fill = async (
  /** @type {string} */ name,
  /** @type {HTMLElement} */ place,
  /** @type {(target: string) => Promise<any>} */ get,
  /** @type {() => void} */ askForKey,
) => {
  place.replaceChildren(h('p', { class: 'muted' }, 'Loading …'));
  try {
    const markdown = (await figures[name]?.(get)) ?? '';
    place.replaceChildren(...blocksOf(markdown).flatMap((block) => (block.kind === 'element' ? block.element : [])));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const message = error.status === 401 ? 'These figures need an API key.' : error.message;
    place.replaceChildren(h('p', { class: 'notice' }, message));
    if (error.status === 401) askForKey();
  }
};

const show = async () => {
  const key = h('div');
  const places = /** @type {[string, HTMLElement][]} */ ([]);
  const [title] = await showGuide((name) => {
    if (name === 'source') return h('p', SOURCE);
    const place = h('div', { 'data-figures': name });
    places.push([name, place]);
    return place;
  });
  title?.after(key);

  const fillAll = () => {
    key.replaceChildren();
    const problem = getKey() === '' ? {} : { problem: 'The service does not accept this key.' };
    const askForKey = () => {
      if (key.childElementCount === 0) key.append(keyForm({ heading: 'Figures of this service', ...problem }));
    };
    const once = onceEach();
    const get = (/** @type {string} */ target) => once(target, () => getJson(target));
    for (const [name, place] of places) fill(name, place, get, askForKey);
  };
  addEventListener('keychange', fillAll);
  fillAll();
};

show().catch(showLoadError);
