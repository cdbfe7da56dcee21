/** The parameter `fields`, with which callers choose the properties of the rows in a list. */
import type { JsonSchema } from '../contracts/json-schema.js';

/**
 * Returns the parameter, and a function for the route's `columns`. Rows always include the required properties, so that
 * every response conforms to the schema.
 * @param row the schema of a row
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
    /** The chosen and required properties, in the order of the schema. Undefined if the caller chose none. */
    columns: (fields: readonly string[] | undefined): readonly string[] | undefined =>
      fields && all.filter((name) => always.includes(name) || fields.includes(name)),
  } as const;
};
