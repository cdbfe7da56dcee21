import { showGuide } from '../../../../../core/pages/guides/guide.js';
import { getJson, getKey, Problem } from '../../../../../core/pages/shared/api.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { keyForm } from '../../../../../core/pages/shared/key-form.js';
import { showLoadError } from '../../../../../core/pages/shared/load-errors.js';
import { blocksOf } from '../../../../../core/pages/shared/markdown.js';
import { onceEach } from '../../../../../core/pages/shared/once.js';
import { figures } from './figures.js';

const SOURCE =
  'The tables contain the figures of this service. The text describes FHFA’s 2025Q4 index and new home sales since 1980.';

/** @param {string} name @param {(target: string) => Promise<any>} get @param {() => void} askForKey */
const figureOf = async (name, get, askForKey) => {
  try {
    const markdown = (await figures[name]?.(get)) ?? '';
    return blocksOf(markdown).flatMap((block) => (block.kind === 'element' ? block.element : []));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const needsKey = error.status === 401;
    if (needsKey) askForKey();
    return [h('p', { class: 'notice' }, needsKey ? 'These figures need an API key.' : error.message)];
  }
};

const show = async () => {
  const key = h('div');
  const askForKey = () => {
    const problem = getKey() === '' ? {} : { problem: 'The service does not accept this key.' };
    if (key.childElementCount === 0) key.append(keyForm({ heading: 'Figures of this service', ...problem }));
  };
  const getter = () => {
    const once = onceEach();
    return (/** @type {string} */ target) => once(target, () => getJson(target));
  };
  const places = /** @type {Map<string, HTMLElement>} */ (new Map());
  const first = getter();
  // The page shows the text and its figures together. If the figures appeared later, the text would move.
  const [title] = await showGuide(async (name) => {
    if (name === 'source') return h('p', SOURCE);
    const place = h('div', { 'data-figures': name }, ...(await figureOf(name, first, askForKey)));
    places.set(name, place);
    return place;
  });
  title?.after(key);

  const showAgain = () => {
    key.replaceChildren();
    const get = getter();
    for (const [name, place] of places) {
      figureOf(name, get, askForKey).then((content) => place.replaceChildren(...content));
    }
  };
  addEventListener('keychange', showAgain);
};

show().catch(showLoadError);
