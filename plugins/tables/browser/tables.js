/** Reads the tables of a service from its OpenAPI document. */
import { words } from './cells.js';

/**
 * @typedef {'text' | 'date' | 'number' | 'boolean'} Kind
 * @typedef {{ name: string, label: string, kind: Kind, whole: boolean, description: string }} Column `whole`: only
 * integers
 * @typedef {object} Table
 * @property {string} name as in its path: `building-permits`
 * @property {readonly Column[]} columns
 * @property {readonly string[]} key
 * @property {readonly string[]} filters columns that the page shows filters for
 * @property {readonly string[]} sorts ascending orders of the API
 * @property {boolean} searches whether the API searches for words
 * @property {Record<string, string>} measures the names of the API's totals: `count`, `sum`, `mean`, `min`, `max`
 */

/** @typedef {{ [name: string]: any }} Json */

/** Maximum number of columns with filters on the page. */
const MOST_FILTERS = 12;

/** @param {Json} document @param {Json} schema @returns {Json} the target of a reference, or the schema itself */
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
  return { name, label, kind, whole, description: schema['description'] ?? '' };
};

/**
 * Returns the allowed values of the parameter `sort`. They are in `anyOf` if the table also has a column named `sort`.
 * @param {Json} schema
 * @returns {string[]}
 */
const sortValues = ({ enum: values, anyOf }) => values ?? anyOf.find((/** @type {Json} */ one) => one['enum'])?.enum;

/**
 * The names of the totals. If a column is named `count`, for example, the total has another name. Empty without totals.
 * @param {Json | undefined} totals the operation
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
        filters: filters.slice(0, MOST_FILTERS),
        sorts: sort.filter((name) => !name.startsWith('-')),
        searches: parameters.some(({ name }) => name === 'q'),
        measures: measuresOf(totals),
      };
    });
};

/** The search for the text that a reader types. Its last word may be unfinished. @param {string} typed */
export const searchFor = (typed) => (/[\p{L}\p{N}]$/u.test(typed.trim()) ? `${typed.trim()}*` : typed.trim());

/**
 * Returns the filters of a table and the search as parameters of the API.
 * @param {Table} table @param {URLSearchParams} chosen filters, such as `NAME[gte]`, and `q`
 * @returns {URLSearchParams}
 */
export const matchingOf = ({ filters, searches }, chosen) => {
  const parameters = new URLSearchParams();
  for (const name of filters) {
    for (const parameter of ['eq', 'gte', 'lte'].map((operator) => `${name}[${operator}]`)) {
      const value = chosen.get(parameter)?.trim();
      if (value) parameters.set(parameter, value);
    }
  }
  const search = searchFor(chosen.get('q') ?? '');
  if (searches && /[\p{L}\p{N}]/u.test(search)) parameters.set('q', search);
  return parameters;
};

/**
 * Returns the parameters of the API call for a table's rows.
 * @param {Table} table @param {URLSearchParams} chosen filters, `q` and `sort`
 * @returns {URLSearchParams}
 */
export const parametersOf = (table, chosen) => {
  const { columns, sorts } = table;
  const parameters = matchingOf(table, chosen);
  const sort = chosen.get('sort')?.replace(/^-/, '');
  const named = sorts.find((each) => each.split(',')[0] === sort);
  if (named && columns.some(({ name }) => name === sort)) {
    parameters.set('sort', `${chosen.get('sort')?.startsWith('-') ? '-' : ''}${named}`);
  }
  return parameters;
};
