/** The reference page: the OpenAPI document, endpoint by endpoint, in the order of its tags. */
import { getJson, getKey, setKey } from './api.js';
import { find, h } from './dom.js';
import { keyForm } from './key-form.js';
import { operationSection } from './operation.js';
import { problemView } from './problems.js';
import { inline, prose } from './prose.js';

/** @typedef {Record<string, any>} Any */
/** @typedef {{ name: string, description: string, operations: { path: string, operation: Any }[] }} Group */

/** @param {Any} document @returns {Group[]} */
const groupsOf = (document) => {
  const described = new Map(
    (document['tags'] ?? []).map((/** @type {Any} */ tag) => [tag['name'], tag['description'] ?? '']),
  );
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const name of described.keys()) groups.set(name, { name, description: described.get(name), operations: [] });
  for (const [path, item] of Object.entries(document['paths'])) {
    const operation = /** @type {Any} */ (item)['get'];
    if (!operation) continue;
    const name = operation['tags']?.[0] ?? 'other';
    /** @type {Group} */
    const group = groups.get(name) ?? { name, description: '', operations: [] };
    group.operations.push({ path, operation });
    groups.set(name, group);
  }
  return [...groups.values()].filter(({ operations }) => operations.length > 0);
};

/** @param {readonly Group[]} groups */
const contents = (groups) =>
  groups.map(({ name, operations }) =>
    h(
      'div',
      {},
      h('p', { class: 'group' }, name),
      h(
        'ul',
        {},
        ...operations.map(({ path, operation }) => h('li', {}, h('a', { href: `#${operation['operationId']}` }, path))),
      ),
    ),
  );

/** The form while there is no key; then only that there is one. */
const keyPlace = () => {
  const place = h('div');
  const show = () => {
    find('#forget').hidden = getKey() === '';
    place.replaceChildren(
      getKey() === ''
        ? keyForm({ heading: 'Enter your API key to try the endpoints' })
        : h('p', { class: 'muted', role: 'status' }, 'Requests from this page carry your key.'),
    );
  };
  addEventListener('keychange', show);
  show();
  return place;
};

const show = async () => {
  const main = find('#main');
  try {
    const document_ = await getJson('/openapi.json', { key: false });
    const { title, version, summary, description } = document_.info;
    const groups = groupsOf(document_);
    document.title = `${title} – reference`;
    find('#contents').replaceChildren(...contents(groups));
    main.replaceChildren(
      h('h1', {}, `${title} `, h('span', { class: 'muted' }, version)),
      ...(summary ? [h('p', {}, ...inline(summary))] : []),
      ...prose(description),
      keyPlace(),
      ...groups.flatMap(({ name, description, operations }) => [
        h('h2', { class: 'group' }, name),
        ...prose(description),
        ...operations.map(({ path, operation }) => operationSection(document_, path, operation)),
      ]),
    );
    // The browser looked for the address's part before it was there.
    const part = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    part?.scrollIntoView();
  } catch (error) {
    main.replaceChildren(problemView(error, () => void show()));
  }
};

find('#forget').addEventListener('click', () => setKey(''));
void show();
