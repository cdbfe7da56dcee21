import type { JsonSchema, WithDefaults } from '../contracts/json-schema.js';

const secret = { type: 'string', minLength: 1, 'x-secret': true } as const;

const nodes = (what: string) =>
  ({
    type: 'array',
    description: `${what}, as a list of host:port, with IPv6 addresses in brackets.`,
    minItems: 1,
    items: { type: 'string', pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/@\\[\\]]+):[0-9]{1,5}$' },
    examples: [['10.0.0.1:6379', '10.0.0.2:6379']],
  }) as const;

const credentials = {
  username: { type: 'string', description: 'User name, if the server uses ACLs.', minLength: 1 },
  password: { ...secret, description: 'Password.' },
  tls: {
    type: 'boolean',
    description: "Whether to use TLS. Certificates are verified with the system's CAs.",
    default: false,
  },
} as const;

export const redisSchema = {
  type: ['object', 'null'],
  description:
    'The Redis server that replicas share for rate limits and caches. Set exactly one of url, sentinel and cluster. If null, each process has its own limits and caches.',
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
      description:
        'URL of a single server. Use rediss:// for TLS. Preferably set by the environment variable REDIS_URL.',
      pattern: '^rediss?://',
      examples: ['redis://127.0.0.1:6379/0'],
      'x-secret': true,
    },
    sentinel: {
      type: 'object',
      description: 'A primary monitored by Redis Sentinel.',
      additionalProperties: false,
      required: ['name', 'nodes'],
      properties: {
        name: {
          type: 'string',
          description: 'Name of the primary, as configured in Sentinel.',
          minLength: 1,
        },
        nodes: nodes('The Sentinel nodes'),
        ...credentials,
        sentinelUsername: { type: 'string', description: 'User name for the Sentinels.', minLength: 1 },
        sentinelPassword: { ...secret, description: 'Password for the Sentinels.' },
        db: { type: 'integer', description: 'Database number.', minimum: 0, default: 0 },
      },
    },
    cluster: {
      type: 'object',
      description: 'A Redis Cluster.',
      additionalProperties: false,
      required: ['nodes'],
      properties: { nodes: nodes('One or more nodes of the cluster'), ...credentials },
    },
    keyPrefix: {
      type: 'string',
      description: 'Prefix for every key in Redis, so that services can share a server.',
      pattern: '^[^{}\\s]*$',
      default: 'api:',
    },
    timeoutMs: {
      type: 'integer',
      description: 'Timeout for a call to Redis, in milliseconds. A request waits for at most two calls.',
      minimum: 1,
      maximum: 10_000,
      default: 150,
    },
    connectTimeoutMs: {
      type: 'integer',
      description: 'Timeout for connecting to Redis, in milliseconds.',
      minimum: 1,
      maximum: 60_000,
      default: 1000,
    },
  },
} as const satisfies JsonSchema;

/** The connection to Redis. Exactly one of `url`, `sentinel` and `cluster` is set. */
export type RedisConfig = NonNullable<WithDefaults<typeof redisSchema>>;
