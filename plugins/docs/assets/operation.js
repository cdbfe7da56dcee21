/** One endpoint: what it takes, what it answers, and a form to try it. */
import { basePath } from './api.js';
import { h } from './dom.js';
import { inline, prose } from './prose.js';
import { limitsOf, resolve, schemaList, typeOf } from './schema.js';
import { tryIt } from './try-it.js';

/** @typedef {Record<string, any>} Any */

/** @param {string} summary of the endpoint @param {readonly Any[]} parameters */
const parameterTable = (summary, parameters) =>
  h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Parameters of: ${summary}` },
    h(
      'table',
      { class: 'parameters' },
      h(
        'thead',
        {},
        h('tr', {}, ...['Parameter', 'In', 'Type', 'Meaning'].map((name) => h('th', { scope: 'col' }, name))),
      ),
      h(
        'tbody',
        {},
        ...parameters.map(({ name, in: place, required, schema = {}, description = '' }) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, h('code', {}, name), required ? ' (required)' : ''),
            h('td', {}, place),
            h('td', {}, [typeOf(schema), limitsOf(schema)].filter(Boolean).join('; ')),
            h('td', {}, ...inline(description)),
          ),
        ),
      ),
    ),
  );

/** @param {unknown} value */
const exampleText = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** @param {Any} document @param {Any} content */
const contentParts = (document, content) =>
  Object.entries(content).flatMap(([type, { schema = {}, example, examples }]) => [
    h('p', {}, h('code', {}, type)),
    schemaList(document, schema) ?? h('p', {}, ...inline(resolve(document, schema)['description'] ?? typeOf(schema))),
    ...[example, ...Object.values(examples ?? {}).map((one) => /** @type {Any} */ (one)['value'])]
      .filter((one) => one !== undefined)
      .map((one) => h('pre', { tabindex: '0' }, h('code', {}, exampleText(one)))),
  ]);

/** @param {Any} document @param {string} status @param {Any} given */
const responseDetails = (document, status, given) => {
  const response = resolve(document, given);
  const headers = Object.keys(response['headers'] ?? {});
  return h(
    'details',
    {},
    h('summary', {}, h('strong', {}, status), ' ', ...inline(response['description'] ?? '')),
    headers.length > 0 ? h('p', { class: 'muted' }, `Headers: ${headers.join(', ')}`) : null,
    ...contentParts(document, response['content'] ?? {}),
  );
};

/**
 * @param {Any} document
 * @param {string} path
 * @param {Any} operation
 */
export const operationSection = (document, path, operation) => {
  const { operationId, summary, description, responses } = operation;
  const parameters = (operation['parameters'] ?? []).map((/** @type {Any} */ one) => resolve(document, one));
  const needsKey = (operation['security'] ?? document['security'] ?? []).some(
    (/** @type {object} */ one) => Object.keys(one).length > 0,
  );
  return h(
    'section',
    { class: 'operation', 'aria-labelledby': operationId },
    h('h3', { id: operationId, tabindex: '-1' }, summary),
    h(
      'p',
      {},
      h('code', { class: 'route' }, `GET ${basePath}${path}`),
      needsKey ? null : h('span', { class: 'muted' }, ' – no key needed'),
    ),
    ...prose(description),
    parameters.length > 0 ? parameterTable(summary, parameters) : null,
    h('h4', {}, 'Try it'),
    tryIt(path, { operationId, parameters, needsKey }),
    h('h4', {}, 'Responses'),
    ...Object.entries(responses).map(([status, response]) => responseDetails(document, status, response)),
  );
};
