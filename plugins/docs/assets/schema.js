/** A JSON Schema as a list of its properties, nested as the data is. */
import { h } from './dom.js';
import { inline } from './prose.js';

/** @typedef {Record<string, any>} Schema */

/** Deeper than any answer: a schema that holds itself ends here. */
const DEEPEST = 6;

/**
 * @param {Schema} document
 * @param {Schema} value
 * @returns {Schema} what a `$ref` stands for, with the keywords beside it; the value itself where it is none
 */
export const resolve = (document, value) => {
  const { $ref, ...beside } = value;
  if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return value;
  let found = /** @type {any} */ (document);
  for (const part of $ref.slice(2).split('/')) {
    found = found?.[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return found ? resolve(document, { ...found, ...beside }) : value;
};

/** Keywords that limit values, in words. @type {readonly (readonly [string, (value: any) => string])[]} */
const LIMITS = [
  ['format', (value) => `format ${value}`],
  ['pattern', (value) => `pattern ${value}`],
  ['minimum', (value) => `at least ${value}`],
  ['maximum', (value) => `at most ${value}`],
  ['exclusiveMinimum', (value) => `above ${value}`],
  ['exclusiveMaximum', (value) => `below ${value}`],
  ['minLength', (value) => `${value} characters and more`],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minItems', (value) => `${value} items and more`],
  ['maxItems', (value) => `at most ${value} items`],
  ['enum', (values) => `one of ${values.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(', ')}`],
  ['const', (value) => `always ${JSON.stringify(value)}`],
  ['default', (value) => `default ${JSON.stringify(value)}`],
];

/** @param {Schema} schema @returns {string} */
export const typeOf = (schema) => {
  if (schema['$ref']) return schema['$ref'].split('/').at(-1);
  if (Array.isArray(schema['type'])) return schema['type'].join(' or ');
  if (schema['type']) return schema['type'];
  return schema['anyOf'] || schema['oneOf'] ? 'one of several' : 'any value';
};

/** @param {Schema} schema */
export const limitsOf = (schema) =>
  LIMITS.flatMap(([keyword, words]) => (schema[keyword] === undefined ? [] : [words(schema[keyword])])).join('; ');

/**
 * @param {Schema} document where references point into
 * @param {Schema} given
 * @returns {HTMLElement | null} null where the schema has nothing below it
 */
export const schemaList = (document, given, depth = 0) => {
  const schema = resolve(document, given);
  if (depth > DEEPEST) return null;
  const variants = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'];
  if (variants)
    return h(
      'ul',
      { class: 'schema' },
      ...variants.map((/** @type {Schema} */ one) => entry(document, '', one, true, depth)),
    );
  if (schema['items']) return h('ul', { class: 'schema' }, entry(document, 'each', schema['items'], true, depth));
  const properties = Object.entries(schema['properties'] ?? {});
  if (properties.length === 0) return null;
  const required = new Set(schema['required'] ?? []);
  return h(
    'ul',
    { class: 'schema' },
    ...properties.map(([name, one]) => entry(document, name, one, required.has(name), depth)),
  );
};

/** @param {Schema} document @param {string} name @param {Schema} given @param {boolean} required @param {number} depth */
const entry = (document, name, given, required, depth) => {
  const schema = resolve(document, given);
  const limits = limitsOf(schema);
  return h(
    'li',
    {},
    name === 'each' || name === '' ? h('em', {}, name || 'either') : h('code', {}, name),
    ' ',
    h(
      'span',
      { class: 'muted' },
      [schema['title'] ?? typeOf(schema), required ? '' : 'optional'].filter(Boolean).join(', '),
    ),
    limits ? h('span', { class: 'muted' }, `; ${limits}`) : null,
    schema['description'] ? h('span', {}, '. ', ...inline(schema['description'])) : null,
    schemaList(document, schema, depth + 1),
  );
};
