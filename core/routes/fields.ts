import type { JsonSchema } from '../contracts/json-schema.js';

/**
 * Lets callers choose the properties of a list's rows. Returns a declaration of the parameter `fields`, and a function
 * for the route's `columns`. Required properties are always included, so that each row conforms to the schema.
 * @param row schema of a row
 * @example
 * const fields = selection.chosenFields(rowSchema);
 * dataRoute({
 *   parameters: { query: { fields: fields.parameter } },
 *   columns: ({ fields: names }) => fields.columns(names),
 *   ...
 * });
 */
export const chosenFields = ({ properties, required = [] }: JsonSchema) => {
  const all = Object.keys(properties as object);
  const always = required as readonly string[];
  return {
    parameter: {
      description: `Properties of each row, separated by commas. Always included: ${always.join(', ')}. Default: all.`,
      schema: { type: 'array', items: { type: 'string', enum: all } },
      example: [...always, ...all.filter((name) => !always.includes(name)).slice(0, 1)],
    },
    columns: (fields: readonly string[] | undefined): readonly string[] | undefined =>
      fields && all.filter((name) => always.includes(name) || fields.includes(name)),
  } as const;
};
