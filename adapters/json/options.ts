/** The options: which directory, and how often to poll it. */
import type { JsonSchema } from '../../core/contracts/json-schema.js';

export interface JsonOptions {
  readonly path: string;
  readonly pollMs?: number;
}

export const POLL_MS = 1000;

export const jsonOptions = {
  type: 'object',
  required: ['path'],
  additionalProperties: false,
  properties: {
    path: { type: 'string', minLength: 1, description: 'The dataset directory.' },
    pollMs: {
      type: 'integer',
      minimum: 10,
      default: POLL_MS,
      description: 'How often to look for another version. In milliseconds.',
    },
  },
} as const satisfies JsonSchema;
