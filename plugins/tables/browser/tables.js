/** Reads the tables of a service from its OpenAPI document. */

/**
 * @typedef {'text' | 'date' | 'number' | 'boolean'} Kind
 * @typedef {{ name: string, kind: Kind, whole: boolean, description: string }} Column `whole`: only integers
 * @typedef {object} Table
 * @property {string} name as in its path: `building-permits`
 * @property {readonly Column[]} columns
 * @property {readonly string[]} key
 * @property {readonly string[]} filters columns with filter parameters
 * @property {readonly string[]} sorts ascending orders of the API
 */

/** @typedef {{ [name: string]: any }} Json */

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
  return { name, kind, whole, description: schema['description'] ?? '' };
};

/** @param {Json} document @returns {Table[]} */
export const tablesOf = (document) => {
  const paths = Object.entries(/** @type {Json} */ (document['paths'])).filter(([, { get }]) =>
    get?.tags?.includes('tables'),
  );
  return paths
    .filter(([path]) => !path.includes('{'))
    .map(([path, { get }]) => {
      const list = get.responses[200].content['application/json'].schema;
      const row = resolved(document, list.properties.data.items);
      const parameters = /** @type {Json[]} */ (get.parameters).map((each) => `${each['name']}`);
      const sort = get.parameters.find((/** @type {Json} */ { name }) => name === 'sort').schema.enum;
      const single = paths.find(([other]) => other.startsWith(`${path}/{`))?.[0] ?? '';
      return {
        name: path.slice(1),
        columns: Object.entries(/** @type {Json} */ (row['properties'])).map(([name, schema]) =>
          columnOf(name, schema),
        ),
        key: [...single.matchAll(/\{([^}]+)\}/g)].map(([, name]) => `${name}`),
        filters: parameters.filter((name) => parameters.includes(`${name}_from`)),
        sorts: sort.filter((/** @type {string} */ name) => !name.startsWith('-')),
      };
    });
};

/**
 * The parameters of the API call for a table's rows. Texts are compared as a whole; numbers and dates have limits.
 * @param {Table} table @param {URLSearchParams} chosen values by `NAME`, `NAME_from` and `NAME_to`, and `sort`
 * @returns {URLSearchParams}
 */
export const parametersOf = ({ filters, columns, sorts }, chosen) => {
  const parameters = new URLSearchParams();
  // Columns that are not first in an order have no equality filter. A range with one value is the same.
  const first = new Set(sorts.map((sort) => sort.split(',')[0]));
  for (const name of filters) {
    const [value, from, to] = [name, `${name}_from`, `${name}_to`].map((each) => chosen.get(each)?.trim());
    if (value && first.has(name)) parameters.set(name, value);
    else if (value) {
      parameters.set(`${name}_from`, value);
      parameters.set(`${name}_to`, value);
    } else {
      if (from) parameters.set(`${name}_from`, from);
      if (to) parameters.set(`${name}_to`, to);
    }
  }
  const sort = chosen.get('sort')?.replace(/^-/, '');
  const named = sorts.find((each) => each.split(',')[0] === sort);
  if (named && columns.some(({ name }) => name === sort)) {
    parameters.set('sort', `${chosen.get('sort')?.startsWith('-') ? '-' : ''}${named}`);
  }
  return parameters;
};
