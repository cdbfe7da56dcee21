import { CADENCES } from '../contracts/dataset.js';
import type { Empty } from '../contracts/json-schema.js';

/** Example: `2026-01-31`. */
export const date = { type: 'string', format: 'date' } as const;
/** A time in UTC, such as `2026-01-31T12:00:00Z`. */
export const dateTime = { type: 'string', format: 'date-time', pattern: 'Z$' } as const;
export const text = { type: 'string', minLength: 1 } as const;
export const cadence = { type: 'string', enum: CADENCES } as const;

/** Allows null in addition to the values of the schema. */
export const nullable = <const T extends { readonly type: string }>(schema: T) =>
  ({ ...schema, type: [schema.type, 'null'] }) as Omit<T, 'type'> & { readonly type: readonly [T['type'], 'null'] };

export const record = <const R extends Record<string, object>, const O extends Record<string, object> = Empty>(
  required: R,
  optional?: O,
) =>
  ({
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  }) as unknown as {
    readonly type: 'object';
    readonly properties: R & O;
    readonly required: readonly (keyof R & string)[];
    readonly additionalProperties: false;
  };
