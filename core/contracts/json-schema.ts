/** JSON Schema 2020-12, as plain data. */
export type JsonSchema = { readonly [keyword: string]: unknown };
