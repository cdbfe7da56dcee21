/** The configuration of the Redis that replicas share: its JSON Schema, and the type that it describes. */
import type { JsonSchema, WithDefaults } from '../contracts/json-schema.js';

const secret = { type: 'string', minLength: 1, 'x-secret': true } as const;

const nodes = (what: string) =>
  ({
    type: 'array',
    description: `${what}, each host:port; IPv6 addresses in brackets.`,
    minItems: 1,
    items: { type: 'string', pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/@\\[\\]]+):[0-9]{1,5}$' },
    examples: [['10.0.0.1:6379', '10.0.0.2:6379']],
  }) as const;

const credentials = {
  username: { type: 'string', description: 'Name to log in with, where the server has users.', minLength: 1 },
  password: { ...secret, description: 'Password to log in with.' },
  tls: { type: 'boolean', description: "Encrypts, and checks certificates against the system's.", default: false },
} as const;

export const redisSchema = {
  type: ['object', 'null'],
  description:
    'The Redis that replicas share for limits and caches: exactly one of url, sentinel and cluster. null: each process is on its own.',
  default: null,
  additionalProperties: false,
  if: { type: 'object' },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: {
    'x-variable': 'REDIS_URL',
    oneOf: [{ required: ['url'] }, { required: ['sentinel'] }, { required: ['cluster'] }],
  },
  properties: {
    url: {
      type: 'string',
      description: 'Where Redis is; rediss:// for TLS. Better given as REDIS_URL than in this file.',
      pattern: '^rediss?://',
      examples: ['redis://127.0.0.1:6379/0'],
      'x-secret': true,
    },
    sentinel: {
      type: 'object',
      description: 'A primary that Redis Sentinel looks after.',
      additionalProperties: false,
      required: ['name', 'nodes'],
      properties: {
        name: { type: 'string', description: 'What the Sentinels call the primary.', minLength: 1 },
        nodes: nodes('Sentinels'),
        ...credentials,
        sentinelUsername: { type: 'string', description: 'Name to log in to the Sentinels with.', minLength: 1 },
        sentinelPassword: { ...secret, description: 'Password to log in to the Sentinels with.' },
        db: { type: 'integer', description: 'Number of the database.', minimum: 0, default: 0 },
      },
    },
    cluster: {
      type: 'object',
      description: 'A Redis Cluster.',
      additionalProperties: false,
      required: ['nodes'],
      properties: { nodes: nodes('Nodes to begin with'), ...credentials },
    },
    keyPrefix: {
      type: 'string',
      description: 'Begins the name of every key in Redis, so that services may share a server.',
      pattern: '^[^{}\\s]*$',
      default: 'api:',
    },
    timeoutMs: {
      type: 'integer',
      description:
        'How long one call to Redis may take before it counts as away; a request waits for two at most. In milliseconds.',
      minimum: 1,
      maximum: 10_000,
      default: 150,
    },
    connectTimeoutMs: {
      type: 'integer',
      description: 'How long connecting may take. In milliseconds.',
      minimum: 1,
      maximum: 60_000,
      default: 1000,
    },
  },
} as const satisfies JsonSchema;

/** Exactly one of `url`, `sentinel` and `cluster`. */
export type RedisConfig = NonNullable<WithDefaults<typeof redisSchema>>;
