/** The parameter `fields`, by which callers choose the properties of the rows of a list. */
import type { JsonSchema } from '../contracts/json-schema.js';

/**
 * The parameter, and the function for `columns` of the route. Rows always have the required properties, so that the
 * schema holds for every response.
 * @param row schema of a row
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
    /** The chosen and the required properties in their usual order. Undefined without a choice. */
    columns: (fields: readonly string[] | undefined): readonly string[] | undefined =>
      fields && all.filter((name) => always.includes(name) || fields.includes(name)),
  } as const;
};
