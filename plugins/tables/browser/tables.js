import { words } from './cells.js';

/**
 * @typedef {'text' | 'date' | 'number' | 'boolean'} Kind
 * @typedef {{ name: string, label: string, kind: Kind, whole: boolean, timed: boolean, description: string }} Column
 * @typedef {object} Table
 * @property {string} name as in the API path, such as `building-permits`
 * @property {readonly Column[]} columns
 * @property {readonly string[]} key
 * @property {readonly string[]} filters
 * @property {readonly string[]} sorts ascending values of the API parameter `sort`
 * @property {boolean} searches
 * @property {Record<string, string>} measures name of `count`, `sum`, `mean`, `min` and `max` in API responses
 */

/** @typedef {{ [name: string]: any }} Json */

/** @param {Json} document @param {Json} schema @returns {Json} */
const resolved = (document, schema) => {
  const name = /^#\/components\/schemas\/(.+)$/.exec(schema['$ref'] ?? '')?.[1];
  return name === undefined ? schema : document['components'].schemas[name];
};

/** @param {string} name @param {Json} schema @returns {Column} */
const columnOf = (name, schema) => {
  const types = [schema['type']].flat();
  const whole = types.includes('integer');
  const isDate = types.includes('string') && /^date/.test(schema['format'] ?? '');
  const isNumber = whole || types.includes('number');
  const kind = isDate ? 'date' : isNumber ? 'number' : types.includes('boolean') ? 'boolean' : 'text';
  const label = schema['title'] ?? words(name);
  const timed = schema['format'] === 'date-time';
  return { name, label, kind, whole, timed, description: schema['description'] ?? '' };
};

/**
 * Returns the allowed values of the parameter `sort`. The schema lists them in `enum`, or in one branch of `anyOf` if a
 * column is also named `sort`.
 * @param {Json} schema @returns {string[]}
 */
const sortValues = ({ enum: values, anyOf }) => values ?? anyOf.find((/** @type {Json} */ one) => one['enum'])?.enum;

/**
 * A parameter named `q` is a search only if it accepts text. Otherwise, it filters the column `q`.
 * @param {Json} schema
 */
const isText = ({ type, anyOf = [] }) =>
  type === 'string' || anyOf.some((/** @type {Json} */ one) => one['type'] === 'string');

/**
 * If a column is named `count`, the API names the measure `count_`.
 * @param {Json | undefined} totals the OpenAPI operation
 * @returns {Record<string, string>}
 */
const measuresOf = (totals) => {
  const sorts = /** @type {Json[]} */ (totals?.['parameters'] ?? []).find(({ name }) => name === 'sort');
  const names = sortValues(sorts?.['schema'] ?? { enum: [] }).filter((name) => !name.startsWith('-'));
  return Object.fromEntries(names.map((name) => [name.replace(/_+$/, ''), name]));
};

/** @param {Json} document @returns {Table[]} */
export const tablesOf = (document) => {
  const paths = Object.entries(/** @type {Json} */ (document['paths'])).filter(([, { get }]) =>
    get?.tags?.includes('tables'),
  );
  return paths
    .filter(([path]) => !path.includes('{') && !path.startsWith('/totals/'))
    .map(([path, { get }]) => {
      const list = get.responses[200].content['application/json'].schema;
      const row = resolved(document, list.properties.data.items);
      const parameters = /** @type {Json[]} */ (get.parameters);
      const filters = parameters.filter(({ style }) => style === 'deepObject').map(({ name }) => `${name}`);
      const sort = sortValues(parameters.find(({ name }) => name === 'sort')?.['schema']);
      const totals = paths.find(([other]) => other === `/totals${path}`)?.[1].get;
      const single = paths.find(([other]) => other.startsWith(`${path}/{`))?.[0] ?? '';
      return {
        name: path.slice(1),
        columns: Object.entries(/** @type {Json} */ (row['properties'])).map(([name, schema]) =>
          columnOf(name, schema),
        ),
        key: [...single.matchAll(/\{([^}]+)\}/g)].map(([, name]) => `${name}`),
        filters,
        sorts: sort.filter((name) => !name.startsWith('-')),
        searches: parameters.some(({ name, schema }) => name === 'q' && isText(schema)),
        measures: measuresOf(totals),
      };
    });
};
