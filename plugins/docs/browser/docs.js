import { getJson } from '../../../core/pages/shared/api.js';
import { find, focusOnSlash, h } from '../../../core/pages/shared/dom.js';
import { inline } from '../../../core/pages/shared/markdown.js';
import { problemView } from '../../../core/pages/shared/problems.js';
import { contentsOf, followReading, startDrawer } from './contents.js';
import { modelOf } from './model.js';
import { operationSection } from './operation.js';
import { authentication, changesPart, errorsPart, headersPart, introduction } from './overview.js';

/** @import { Model } from './model.js' */

/** @param {Model} model */
const partsOf = (model) => {
  const { groups, operations, errors, changes } = model;
  const paths = new Map(operations.map(({ id, path }) => [id, path]));
  const everywhere = new Set(
    errors.filter((error) => error.operations.length === operations.length).map(({ code }) => code),
  );
  /** @type {Set<string>} */
  const listed = new Set();
  const context = { everywhere, listed, pathOf: (/** @type {string} */ id) => paths.get(id) ?? id };
  return [
    introduction(model),
    authentication(),
    ...groups.flatMap(({ name, description, operations }) => [
      h('div', { class: 'group-head' }, h('h2', name), h('p', ...inline(description))),
      ...operations.map((operation) => operationSection(operation, context)),
    ]),
    errorsPart(model),
    headersPart(model),
    ...(changes.length > 0 ? [changesPart(model)] : []),
  ];
};

/** Scrolls to the element that the address refers to. Opens any `details` around it. */
const aim = () => {
  const place = decodeURIComponent(location.hash.slice(1));
  const target = place === '' ? null : document.getElementById(place);
  for (const marked of document.querySelectorAll('.aimed')) marked.classList.remove('aimed');
  if (!target) return;
  for (let around = target.closest('details'); around; around = around.parentElement?.closest('details') ?? null) {
    around.open = true;
  }
  if (target.matches('.entry')) target.classList.add('aimed');
  target.scrollIntoView({ behavior: 'instant' });
};

/** @param {Model} model */
const startSearchOnFocus = (model) => {
  const input = /** @type {HTMLInputElement} */ (find('#search'));
  /** @type {string | undefined} */
  let pressed;
  const remember = (/** @type {KeyboardEvent} */ { key }) => {
    pressed = key;
  };
  const start = async () => {
    input.addEventListener('keydown', remember);
    try {
      const { startSearch } = await import('./search.js');
      startSearch(input, model, aim);
      if (pressed === 'Enter') input.dispatchEvent(new KeyboardEvent('keydown', { key: pressed }));
    } catch {
      input.addEventListener('focus', start, { once: true });
    } finally {
      input.removeEventListener('keydown', remember);
    }
  };
  input.addEventListener('focus', start, { once: true });
  if (document.activeElement === input) void start();
  focusOnSlash(input);
};

const show = async () => {
  const main = find('#main');
  try {
    const model = modelOf(await getJson('/openapi.json', { key: false }));
    document.title = `${model.title} – reference`;
    find('#parts').replaceChildren(...contentsOf(model));
    main.replaceChildren(...partsOf(model));
    // The content did not exist when the browser loaded the page, so the browser could not scroll to the fragment.
    aim();
    addEventListener('hashchange', aim);
    followReading();
    startSearchOnFocus(model);
  } catch (error) {
    main.replaceChildren(problemView(error, () => void show()));
  }
};

addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('main .text details')) details.setAttribute('open', '');
});
startDrawer();
void show();
