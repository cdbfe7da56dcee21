import type { JsonSchema, WithDefaults } from '../contracts/json-schema.js';
import type { ServiceInfo } from '../contracts/service.js';
import { redisSchema } from '../redis/config.js';
import { nullable } from '../validation/schemas.js';

export interface ModuleConfig {
  readonly use: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A module in a configuration object. A string is the name of a built-in module, a path or a package. */
export type GivenModule = string | { readonly use: string; readonly options?: Readonly<Record<string, unknown>> };

type Given<T> = T extends ModuleConfig
  ? GivenModule
  : T extends readonly ModuleConfig[]
    ? readonly GivenModule[]
    : T extends readonly unknown[]
      ? T
      : T extends object
        ? string extends keyof T
          ? T
          : { readonly [K in keyof T]?: Given<T[K]> }
        : T;

export type GivenConfig = Given<Config>;

export interface AuthConfig {
  readonly realm?: string;
  readonly tiers: readonly string[] | Readonly<Record<string, TierConfig>>;
  readonly anonymous: string | null;
  readonly peppers: Readonly<Record<string, string>>;
  readonly keys: ModuleConfig;
}

export interface TierConfig {
  readonly requestsPerMinute?: number;
  readonly requestsPerDay?: number;
  readonly requestsPerMonth?: number;
  readonly endpoints?: readonly string[];
}

const section = <const P extends Readonly<Record<string, JsonSchema>>>(description: string, properties: P) =>
  ({ type: 'object', description, properties, additionalProperties: false, default: {} }) as const;

const count = (description: string, minimum: number, maximum: number, value: number) =>
  ({ type: 'integer', description, minimum, maximum, default: value }) as const;

const atLeastOne = { type: 'integer', minimum: 1, maximum: 1e12 } as const;

const milliseconds = (description: string, value: number) =>
  count(`${description} In milliseconds.`, 1, 3_600_000, value);

const module = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: ['string', 'object'],
  description: `${description} Built-in name, package name, or path that starts with "./" or "../". To set options, use {"use": ..., "options": {...}}.`,
  minLength: 1,
  required: ['use'],
  additionalProperties: false,
  properties: {
    use: { type: 'string', minLength: 1, description: 'Name, package or path of the module.' },
    options: {
      type: 'object',
      description:
        'Options for the module, which defines their schema. Relative paths are resolved relative to the folder of this file.',
      default: {},
    },
  },
  ...more,
});

const url = (description: string): JsonSchema => ({ type: 'string', description, pattern: '^https?://[^\\s]+$' });

/** The `service` settings have no defaults, because they override the values that plugins declare. */
export const serviceSchema = {
  type: 'object',
  description:
    "Names and descriptions used in the OpenAPI document, pages, API keys and errors. Default: the values that a plugin declares, otherwise the framework's values.",
  additionalProperties: false,
  properties: {
    name: {
      type: 'string',
      description: 'Machine-readable name, used in MCP, traces and browsers.',
      pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
      maxLength: 50,
      examples: ['weather'],
    },
    title: { type: 'string', description: 'Human-readable name.', minLength: 1, examples: ['Weather API'] },
    version: { type: 'string', description: 'API version.', minLength: 1, examples: ['1.0.0'] },
    summary: { type: 'string', description: 'One sentence about the service.' },
    description: { type: 'string', description: 'Description of the data, in Markdown.' },
    conventions: {
      type: 'string',
      description: 'API conventions, in Markdown. Shown after the description, in place of the default text.',
    },
    changes: {
      type: 'array',
      description: 'API changes that callers need to know about, newest first.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['version', 'summary'],
        properties: {
          version: { type: 'string', description: 'API version.', minLength: 1, examples: ['1.1.0'] },
          summary: { type: 'string', description: 'One or two sentences, in Markdown.', minLength: 1 },
          operations: {
            type: 'array',
            description: 'The operationId of each endpoint that changed.',
            items: { type: 'string', minLength: 1 },
          },
        },
      },
    },
    contact: {
      type: 'object',
      description: 'Contact for callers.',
      additionalProperties: false,
      properties: {
        name: { type: 'string', description: 'Name of a person or a team.', minLength: 1 },
        url: url('URL of a contact page.'),
        email: { type: 'string', description: 'Email address.', pattern: '^[^\\s@]+@[^\\s@]+$' },
      },
      minProperties: 1,
    },
    termsOfService: { ...url('URL of the terms of use; null if there are none.'), type: ['string', 'null'] },
    getKeyUrl: {
      ...url('URL of the page where callers can get an API key; null if there is none.'),
      type: ['string', 'null'],
    },
    license: {
      type: ['object', 'null'],
      description: 'Licence of the API; null if there is none.',
      additionalProperties: false,
      required: ['name'],
      properties: {
        name: { type: 'string', description: 'Name of the licence.', minLength: 1 },
        identifier: { type: 'string', description: 'SPDX identifier.', minLength: 1, examples: ['CC-BY-4.0'] },
        url: url('URL of the licence text.'),
      },
    },
    instructions: {
      type: 'string',
      description: 'Instructions for AI assistants, for example about the units of the data and how to find codes.',
    },
    keyPrefix: {
      type: 'string',
      description:
        'Prefix of new API keys. It helps secret scanners recognise leaked keys. Existing keys with a different prefix stay valid.',
      pattern: '^[A-Za-z][A-Za-z0-9_]{0,18}_$',
      examples: ['wth_'],
    },
  },
} as const satisfies JsonSchema;

export const configSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration',
  type: 'object',
  additionalProperties: false,
  required: ['adapter', 'plugins'],
  properties: {
    $schema: { type: 'string', description: 'URL or path of this schema. Only editors use it.' },
    service: { ...serviceSchema, default: {} },
    server: section('The HTTP server and its limits.', {
      host: { type: 'string', description: 'Address to listen on.', minLength: 1, default: '127.0.0.1' },
      port: count('Port to listen on; 0 means any free port.', 0, 65_535, 8080),
      basePath: {
        type: 'string',
        description: 'Path prefix of all endpoints; an empty string means no prefix.',
        pattern: '^(/[A-Za-z0-9._~-]+)*$',
        examples: ['/api/v1'],
        default: '/api/v1',
      },
      publicUrl: {
        type: 'string',
        description:
          'Public URL of the service, for use behind a proxy that changes the path or host. It is used for pages, links and the OpenAPI document. Default: the path in the header X-Forwarded-Prefix from a trusted proxy, otherwise no path.',
        pattern: '^https?://[^\\s/?#]+(/[A-Za-z0-9._~-]+)*/?$',
        examples: ['https://example.com/lib'],
      },
      trustProxy: {
        oneOf: [
          { type: 'integer', minimum: 0, maximum: 16 },
          { type: 'array', minItems: 1, maxItems: 100, items: { type: 'string', minLength: 1 } },
        ],
        description:
          'Either the number of proxies in front of the service, or their networks. With a number, the caller is the entry of X-Forwarded-For at that position from the right; with 0, the header is ignored. With networks, the header is used only for connections from these networks, and the caller is the rightmost address in the header that is outside these networks.',
        examples: [1, ['10.0.0.0/8', 'fd00::/8']],
        default: 0,
      },
      workers: count('Number of processes that share the port; 0 means one process per CPU.', 0, 256, 1),
      drainDelayMs: count(
        'Time after SIGTERM during which /ready and /health fail while the service still accepts requests, so that load balancers can stop sending them. Set it to the interval of their health checks multiplied by the number of failures that they require. Connections are closed after their next response. In milliseconds.',
        0,
        600_000,
        1000,
      ),
      drainMs: milliseconds('Time allowed for requests in progress to finish on shutdown.', 10_000),
      maxUrlBytes: count(
        'Maximum length of a request target in bytes. Longer targets are rejected with 414. If the target and the header fields together exceed the sum of this setting and maxHeaderBytes, the request is rejected with 431.',
        64,
        65_536,
        8192,
      ),
      maxHeaderBytes: count(
        'Maximum size of the header fields of a request in bytes, without the request line. Larger headers are rejected with 431. Each field counts as the length of its name and value plus 4 bytes.',
        1024,
        1_048_576,
        16_384,
      ),
      maxHeaders: count(
        'Maximum number of header fields in a request. Requests with more are rejected with 431.',
        16,
        10_000,
        100,
      ),
      maxConnections: count('Maximum number of open connections.', 1, 1_000_000, 10_000),
      maxConnectionsPerAddress: count(
        'Maximum number of open connections from one IPv4 address or IPv6 /64 network. Trusted proxies are exempt. If trustProxy is a number above 0, all addresses are exempt.',
        1,
        1_000_000,
        2000,
      ),
      headersTimeoutMs: milliseconds('Timeout for receiving the header fields of a request.', 10_000),
      requestTimeoutMs: milliseconds('Timeout for receiving an entire request.', 15_000),
      stallTimeoutMs: milliseconds(
        'Time after which a connection is closed if the client does not read its response.',
        10_000,
      ),
      keepAliveTimeoutMs: milliseconds(
        'Time after which an idle connection is closed. It must be longer than the corresponding timeout of the load balancer, which is often 60 s.',
        75_000,
      ),
      overload: nullable(
        section('Overload protection: limits beyond which requests are rejected with 503; null disables it.', {
          maxInFlight: count(
            'Maximum number of requests in flight, and also of requests waiting in each work queue. One caller can use at most half of a queue, and half of this number for mounts and service routes. After a client has disconnected, the handler of its request counts for at most 30 seconds.',
            1,
            1_000_000,
            2000,
          ),
          maxEventLoopDelayMs: milliseconds('Maximum acceptable event loop delay.', 50),
        }),
      ),
    }),
    http: section('Requests and responses.', {
      unknownParameters: {
        type: 'string',
        description: 'Whether an unknown query parameter is rejected with 400 or ignored.',
        enum: ['reject', 'ignore'],
        default: 'reject',
      },
      cors: nullable(
        section('Web pages that may call the API from other origins; null allows none.', {
          origin: {
            type: ['string', 'array'],
            description: 'Either "*" for all origins, or a list of origins.',
            pattern: '^(\\*|https?://[^/\\s]+)$',
            items: { type: 'string', pattern: '^https?://[^/\\s]+$', examples: ['https://app.example.com'] },
            minItems: 1,
            uniqueItems: true,
            examples: ['*', ['https://app.example.com']],
            default: '*',
          },
          maxAgeSeconds: count('How long browsers may cache this permission, in seconds.', 0, 86_400, 86_400),
        }),
      ),
      compression: { type: 'boolean', description: 'Whether to compress responses with br or gzip.', default: true },
      cacheBytes: count('Memory for cached responses in bytes; 0 disables the cache.', 0, 2 ** 40, 64 * 1024 * 1024),
      answerMs: milliseconds(
        'Timeout for reading the data for one response, after which the request gets a 503. If a handler does not end within 0.75 seconds after this time, its request gets a 503 too. The timeout plus 0.75 seconds must be shorter than the timeout of the proxy. For lists larger than 1 MB, it is the maximum time between rows.',
        4000,
      ),
      responseCheck: {
        enum: ['off', 'sample', 'report', 'cut', 'refuse'],
        description:
          'Whether responses are validated against the schemas of their routes. sample: checks 1% of responses and logs errors; report: checks all responses and logs errors; cut: removes undeclared properties and logs other errors; refuse: replaces invalid responses, and errors that the route does not declare, with a 500. Cached responses are not checked again.',
        default: 'off',
      },
      csvFormulaGuard: {
        type: 'boolean',
        description: 'Whether to prefix CSV cells with an apostrophe if a spreadsheet would run them as a formula.',
        default: true,
      },
    }),
    adapter: module('The storage adapter.'),
    plugins: {
      type: 'array',
      description: 'The plugins. Each is a group of endpoints.',
      items: module('A plugin.'),
    },
    auth: section('API keys and tiers.', {
      realm: {
        type: 'string',
        description:
          'Realm in the header WWW-Authenticate. Default: the title of the service, or "API" if the title is not ASCII.',
        pattern: '^[ !#-\\[\\]-~]+$',
        examples: ['Example API'],
      },
      tiers: {
        type: ['array', 'object'],
        description:
          'Key tiers, as a list of names or an object with the limits of each tier. Keys with any other tier are rejected. New keys get the first tier. With an object, the usage of all callers is counted.',
        minItems: 1,
        minProperties: 1,
        uniqueItems: true,
        items: { type: 'string', minLength: 1 },
        propertyNames: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,49}$', examples: ['free'] },
        additionalProperties: {
          type: 'object',
          description: 'Limits of the tier.',
          additionalProperties: false,
          properties: {
            requestsPerMinute: {
              ...atLeastOne,
              description: 'Limit per minute for keys without their own limit. Default: limits.requestsPerMinute.',
            },
            requestsPerDay: { ...atLeastOne, description: 'Quota per UTC day. Default: none.' },
            requestsPerMonth: { ...atLeastOne, description: 'Quota per UTC calendar month. Default: none.' },
            endpoints: {
              type: 'array',
              description:
                'Plugins, routes and mounts that the tier includes, such as "markets", "/markets/{cbsa}" or "/mcp". Only endpoints that need a key can be listed. Default: all of them.',
              uniqueItems: true,
              items: { type: 'string', minLength: 1, examples: ['markets'] },
            },
          },
        },
        examples: [['enterprise'], { enterprise: {}, free: { requestsPerDay: 1000, endpoints: ['markets'] } }],
        default: ['enterprise'],
      },
      anonymous: {
        type: ['string', 'null'],
        description:
          'Tier for callers without a key, who are identified by their address; null if every caller needs a key.',
        minLength: 1,
        examples: ['free'],
        default: null,
      },
      peppers: {
        type: 'object',
        description:
          'Secrets used when hashing keys, by version: 1, 2, ... New keys use the highest version. Set them with environment variables rather than in this file.',
        propertyNames: { type: 'string', pattern: '^[1-9][0-9]{0,3}$', examples: ['1'] },
        additionalProperties: { type: 'string', minLength: 32, 'x-secret': true },
        default: {},
      },
      keys: module('The key store.', { default: { use: 'file', options: { path: 'keys.json' } } }),
    }),
    limits: section('Rate limits per caller.', {
      requestsPerMinute: count(
        'Limit per minute for keys without their own limit, and for callers without a key.',
        1,
        1e9,
        600,
      ),
      replicas: count(
        'Number of replicas that share a limit while Redis is unreachable, not counting their workers.',
        1,
        10_000,
        1,
      ),
      whenRedisIsAway: {
        type: 'string',
        description:
          'How requests are limited while Redis is unreachable. local: each replica applies the limit divided by replicas; closed: every request gets a 503; open: no limit applies.',
        enum: ['local', 'closed', 'open'],
        default: 'local',
      },
    }),
    redis: redisSchema,
    log: section('The log on standard error.', {
      level: {
        type: 'string',
        description: 'Minimum level to log.',
        enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
        default: 'info',
      },
      format: {
        type: 'string',
        description:
          'json: one JSON object per line; pretty: human-readable text; auto: pretty on a terminal, otherwise json.',
        enum: ['auto', 'json', 'pretty'],
        default: 'auto',
      },
      addresses: {
        type: 'string',
        description:
          'Which part of the caller address to include in request log lines. network: the /24 of IPv4 or the /48 of IPv6; full: the IPv4 address or the /64 of IPv6. Addresses are personal data in many countries.',
        enum: ['none', 'network', 'full'],
        default: 'none',
      },
      requests: {
        type: 'string',
        description:
          'Format of request log lines. json: the fields listed in docs/reference/metrics.md; combined: the Apache and nginx format, without the query; none: requests are not logged.',
        enum: ['json', 'combined', 'none'],
        default: 'json',
      },
      probes: {
        type: 'boolean',
        description: 'Whether to log and trace successful requests to /ready and /health.',
        default: false,
      },
    }),
    metrics: {
      ...nullable(
        section('Prometheus metrics at /metrics on a separate port, which must stay private. null disables them.', {
          host: { type: 'string', description: 'Address to listen on.', minLength: 1, default: '127.0.0.1' },
          port: count('Port to listen on; 0 means any free port.', 0, 65_535, 9464),
        }),
      ),
      default: null,
    },
  },
} as const satisfies JsonSchema;

type Sections = WithDefaults<typeof configSchema>;

/**
 * The type of `http.cors`. Type inference does not support schemas with several types, such as the schema of `origin`.
 */
interface CorsConfig {
  readonly origin: string | readonly string[];
  readonly maxAgeSeconds: number;
}

/** A validated configuration with all defaults filled in. */
export interface Config {
  readonly service: Partial<ServiceInfo>;
  readonly server: Sections['server'];
  readonly http: Omit<Sections['http'], 'cors'> & { readonly cors: CorsConfig | null };
  readonly adapter: ModuleConfig;
  readonly plugins: readonly ModuleConfig[];
  readonly auth: AuthConfig;
  readonly limits: Sections['limits'];
  readonly redis: Sections['redis'];
  readonly log: Sections['log'];
  readonly metrics: Sections['metrics'];
}
