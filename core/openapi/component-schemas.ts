/** Schemas with a title become named components, so that generated clients get named types. */
import type { JsonSchema } from '../contracts/json-schema.js';

export class ComponentSchemas {
  readonly #components = new Map<string, { schema: JsonSchema; resolved: unknown }>();

  /** The schema with every titled part, itself included, replaced by a reference. */
  reference(schema: JsonSchema): unknown {
    const resolved = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#within(value)]));
    const title = schema['title'];
    if (typeof title !== 'string') return resolved;
    const known = this.#components.get(title);
    if (known && JSON.stringify(known.schema) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas have the title "${title}"`);
    }
    this.#components.set(title, { schema, resolved });
    return { $ref: `#/components/schemas/${title}` };
  }

  all(): Record<string, unknown> {
    return Object.fromEntries([...this.#components].sort().map(([title, { resolved }]) => [title, resolved]));
  }

  #within(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#within(item));
    if (typeof value === 'object' && value !== null) return this.reference(value as JsonSchema);
    return value;
  }
}
