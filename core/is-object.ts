/** Whether a value has members: an object or a list, not null. */
export const isObject = (value: unknown): value is Record<string | number, unknown> =>
  typeof value === 'object' && value !== null;

/** Whether a value is what JSON calls an object: no list. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !Array.isArray(value);
