/** @typedef {Record<string, any>} Any */
/**
 * @typedef {{ name: string, type: string, required: boolean, limits: string, description: string, children: Field[] }}
 * Field
 * @typedef {{ status: string, code: string }} ErrorName
 * @typedef {{ name: string, place: string, required: boolean, schema: Any, example: unknown, type: string,
 *   limits: string, description: string, operators: string[] }} Parameter
 * @typedef {{ id: string, path: string, group: string, summary: string, description: string, takesKey: boolean,
 *   needsKey: boolean, parameters: Parameter[], answer: string, contents: { type: string, example: unknown }[],
 *   type: string, fields: Field[], headers: string[], errors: ErrorName[], next: string[] }} Operation
 * @typedef {ErrorName & { when: string, example: unknown, headers: string[], operations: Operation[] }} ErrorKind
 * @typedef {{ name: string, description: string, example: unknown }} Header
 * @typedef {{ version: string, summary: string, operations: string[] }} Change
 * @typedef {{ name: string, description: string, operations: Operation[] }} Group
 * @typedef {{ title: string, version: string, summary: string, description: string, about: Any,
 *   groups: Group[], operations: Operation[], errors: ErrorKind[], errorFields: Field[], headers: Header[], changes: Change[] }} Model
 */

/** Schemas can be recursive, so nested fields are listed only to a depth of six levels. */
const DEEPEST = 6;

/** @param {Any} document @param {Any} value @returns {Any} */
const resolve = (document, value) => {
  const { $ref, ...own } = value;
  if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return value;
  let found = /** @type {any} */ (document);
  for (const part of $ref.slice(2).split('/')) {
    found = found?.[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return found ? resolve(document, { ...found, ...own }) : value;
};

/** @param {unknown} value */
const shown = (value) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** @type {readonly (readonly [string, (value: any) => string])[]} */
const LIMITS = [
  ['format', (value) => `format ${shown(value)}`],
  ['pattern', (value) => `pattern ${shown(value)}`],
  ['minimum', (value) => `at least ${value}`],
  ['maximum', (value) => `at most ${value}`],
  ['exclusiveMinimum', (value) => `above ${value}`],
  ['exclusiveMaximum', (value) => `below ${value}`],
  ['minLength', (value) => (value > 1 ? `at least ${value} characters` : '')],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minItems', (value) => `at least ${value} items`],
  ['maxItems', (value) => `at most ${value} items`],
  ['enum', (values) => `one of ${values.map(shown).join(', ')}`],
  ['const', (value) => `always ${shown(value)}`],
  ['default', (value) => `default ${shown(value)}`],
];

/** @param {Any} schema @returns {string} */
const limitsOf = (schema) =>
  LIMITS.flatMap(([keyword, words]) => (schema[keyword] === undefined ? [] : [words(schema[keyword])]))
    .filter(Boolean)
    .join(', ');

/** @param {Any} schema @returns {readonly Any[] | undefined} */
const variantsOf = ({ anyOf, oneOf, allOf }) => anyOf ?? oneOf ?? allOf;

/** @param {Any} document @param {Any} given @returns {string} */
const typeOf = (document, given) => {
  const schema = resolve(document, given);
  const { title, type, items } = schema;
  const variants = variantsOf(schema);
  if (title) return title;
  if (variants) return variants.map((one) => typeOf(document, one)).join(' or ');
  const types = type === undefined ? ['any value'] : [type].flat();
  return types.map((one) => (one === 'array' && items ? `array of ${typeOf(document, items)}` : one)).join(' or ');
};

/** @param {Any} document @param {Any} given @param {number} depth @returns {Field[]} */
const fieldsOf = (document, given, depth = 0) => {
  const schema = resolve(document, given);
  if (depth > DEEPEST) return [];
  const variants = variantsOf(schema);
  if (variants) {
    const fields = variants.flatMap((one) => fieldsOf(document, one, depth));
    return fields.filter(({ name }, index) => fields.findIndex((field) => field.name === name) === index);
  }
  if (schema['items']) return fieldsOf(document, schema['items'], depth);
  const required = new Set(schema['required'] ?? []);
  return Object.entries(schema['properties'] ?? {}).map(([name, one]) => {
    const field = resolve(document, /** @type {Any} */ (one));
    return {
      name,
      type: typeOf(document, field),
      required: required.has(name),
      limits: limitsOf(field),
      description: field['description'] ?? '',
      children: fieldsOf(document, field, depth + 1),
    };
  });
};

/** @param {Any} document @param {Any} given @returns {Parameter} */
const parameterOf = (document, given) => {
  const { name, in: place, required, schema = {}, example, description, style } = resolve(document, given);
  const operators = style === 'deepObject' ? resolve(document, schema['anyOf'][0])['properties'] : {};
  return {
    name,
    place,
    required: required === true,
    schema,
    example: example ?? schema.default,
    type: typeOf(document, schema),
    limits: limitsOf(schema['items'] ?? schema),
    description: description ?? '',
    operators: Object.keys(operators),
  };
};

/** @param {Any} document @param {Any} response @returns {[code: string, Any][]} */
const examplesOf = (document, response) =>
  Object.entries(resolve(document, response)['content']?.['application/json']?.['examples'] ?? {});

/** In OpenAPI, an empty security requirement means that callers need no key. @param {readonly object[]} alternatives */
const keyUse = (alternatives) => {
  const takesKey = alternatives.some((one) => Object.keys(one).length > 0);
  return { takesKey, needsKey: takesKey && alternatives.every((one) => Object.keys(one).length > 0) };
};

/** @param {Any} document @param {string} path @param {Any} operation @returns {Operation} */
const operationOf = (document, path, operation) => {
  const { operationId, summary, description, tags, security, parameters = [], responses } = operation;
  const success = resolve(document, responses['200'] ?? {});
  const contents = Object.entries(success['content'] ?? {});
  const schema = success['content']?.['application/json']?.['schema'] ?? {};
  return {
    id: operationId,
    path,
    group: tags?.[0] ?? 'other',
    summary,
    description: description === summary ? '' : (description ?? ''),
    ...keyUse(security ?? document['security'] ?? []),
    parameters: parameters.map((/** @type {Any} */ one) => parameterOf(document, one)),
    answer: success['description'] ?? '',
    contents: contents.flatMap(([type, { example }]) => (example === undefined ? [] : [{ type, example }])),
    type: typeOf(document, schema),
    fields: fieldsOf(document, schema),
    headers: Object.keys(success['headers'] ?? {}),
    errors: Object.entries(responses).flatMap(([status, response]) =>
      Number(status) < 400 ? [] : examplesOf(document, response).map(([code]) => ({ status, code })),
    ),
    next: Object.keys(success['links'] ?? {}),
  };
};

/** @param {Any} document @param {readonly Operation[]} operations @returns {ErrorKind[]} */
const errorsOf = (document, operations) => {
  /** @type {Map<string, ErrorKind>} */
  const kinds = new Map();
  for (const operation of operations) {
    const responses = document['paths'][operation.path]['get']['responses'];
    for (const { status, code } of operation.errors) {
      const response = resolve(document, responses[status]);
      const { summary, value } = /** @type {Any} */ (new Map(examplesOf(document, response)).get(code));
      const headers = Object.keys(response['headers'] ?? {});
      /** @type {ErrorKind} */
      const known = kinds.get(code) ?? { status, code, when: summary, example: value, headers, operations: [] };
      known.operations.push(operation);
      kinds.set(code, known);
    }
  }
  return [...kinds.values()].sort((a, b) => Number(a.status) - Number(b.status));
};

/** @param {Any} document @returns {Header[]} */
const headersOf = (document) => {
  const own = Object.values(document['paths']).flatMap(({ get }) =>
    Object.values(get.responses).map((response) => resolve(document, response)['headers'] ?? {}),
  );
  const headers = Object.assign({}, ...own, document['components']?.['headers']);
  return Object.entries(headers).map(([name, given]) => {
    const { description = '', example } = resolve(document, given);
    return { name, description, example };
  });
};

/** @param {Any} document @returns {Model} */
export const modelOf = (document) => {
  const { title, version, summary = '', description = '', 'x-changes': changes = [], ...about } = document['info'];
  const operations = Object.entries(document['paths']).map(([path, { get }]) => operationOf(document, path, get));
  const described = new Map(
    (document['tags'] ?? []).map((/** @type {Any} */ tag) => [tag['name'], tag['description']]),
  );
  const names = [...new Set([...described.keys(), ...operations.map(({ group }) => group)])];
  return {
    title,
    version,
    summary,
    description,
    about,
    groups: names
      .map((name) => ({
        name,
        description: described.get(name) ?? '',
        operations: operations.filter(({ group }) => group === name),
      }))
      .filter((group) => group.operations.length > 0),
    operations,
    errors: errorsOf(document, operations),
    errorFields: fieldsOf(document, document['components']?.['schemas']?.['Error'] ?? {}),
    headers: headersOf(document),
    changes: changes.map((/** @type {Any} */ change) => ({ operations: [], ...change })),
  };
};
