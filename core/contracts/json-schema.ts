/** JSON Schema 2020-12, as plain data. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export const date = { type: 'string', format: 'date' };
export const dateTime = { type: 'string', format: 'date-time', pattern: 'Z$' };
/** A string that is not empty. */
export const text = { type: 'string', minLength: 1 };

/** The same schema, also allowing null. */
export const nullable = <T extends { type: string }>(schema: T) => ({ ...schema, type: [schema.type, 'null'] });

/** An object schema in which no other properties are allowed. */
export const record = (required: Record<string, object>, optional: Record<string, object> = {}) => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
});
