/** The configuration file: its JSON Schema, and the type of a checked one. */
import type { JsonSchema, WithDefaults } from '../contracts/json-schema.js';
import type { ServiceInfo } from '../contracts/service.js';
import { redisSchema } from '../redis/config.js';
import { nullable } from '../validation/schemas.js';

/** An adapter, plugin or key store, and its options, which the module itself declares. */
export interface ModuleConfig {
  readonly use: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A module in a configuration in code: its name, path or package, with its options where it has some. */
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

/** A configuration as a file has it: what is left out has its default. */
export type GivenConfig = Given<Config>;

export interface AuthConfig {
  /** Absent: the service's title. */
  readonly realm?: string;
  /** A list of their names, or each by its name with its terms. */
  readonly tiers: readonly string[] | Readonly<Record<string, TierConfig>>;
  /** The tier of callers without a key. */
  readonly anonymous: string | null;
  /** By version. */
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

/** A module: `"name"`, or `{"use": "name", "options": {...}}`. */
const module = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: ['string', 'object'],
  description: `${description} A built-in name, a package's name or a path that begins with "./" or "../"; with options: {"use": ..., "options": {...}}.`,
  minLength: 1,
  required: ['use'],
  additionalProperties: false,
  properties: {
    use: { type: 'string', minLength: 1, description: 'Name, package or path of the module.' },
    options: {
      type: 'object',
      description: "What the module is told; it declares what it allows. Relative paths start at this file's folder.",
      default: {},
    },
  },
  ...more,
});

const url = (description: string): JsonSchema => ({ type: 'string', description, pattern: '^https?://[^\\s]+$' });

/** Without defaults: a plugin may say who the service is, and these settings are laid over that. */
export const serviceSchema = {
  type: 'object',
  description:
    'Who the service is: what its document, pages, keys and errors say of it. What is absent here is as a plugin declares it, else as the framework does.',
  additionalProperties: false,
  properties: {
    name: {
      type: 'string',
      description: 'Its name for machines: MCP clients, traces, and the variable for the key in examples.',
      pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
      maxLength: 50,
      examples: ['weather'],
    },
    title: { type: 'string', description: 'Its name for people.', minLength: 1, examples: ['Weather API'] },
    version: { type: 'string', description: 'Version of the interface.', minLength: 1, examples: ['1.0.0'] },
    summary: { type: 'string', description: 'What it offers, in one sentence.' },
    description: { type: 'string', description: 'What there is to know about the data, in Markdown.' },
    conventions: {
      type: 'string',
      description: 'How the API responds, in Markdown: stands after the description, in the place of the general text.',
    },
    changes: {
      type: 'array',
      description: 'What has changed in the interface, newest first, for those who call it.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['version', 'summary'],
        properties: {
          version: { type: 'string', description: 'Version of the interface.', minLength: 1, examples: ['1.1.0'] },
          summary: { type: 'string', description: 'A sentence or two, in Markdown.', minLength: 1 },
          operations: {
            type: 'array',
            description: 'The operationId of each endpoint that the change is about.',
            items: { type: 'string', minLength: 1 },
          },
        },
      },
    },
    contact: {
      type: 'object',
      description: 'Whom callers ask.',
      additionalProperties: false,
      properties: {
        name: { type: 'string', description: 'A person or a team.', minLength: 1 },
        url: url('A page.'),
        email: { type: 'string', description: 'An address for mail.', pattern: '^[^\\s@]+@[^\\s@]+$' },
      },
      minProperties: 1,
    },
    termsOfService: { ...url('The page with the terms of use; null: there are none.'), type: ['string', 'null'] },
    license: {
      type: ['object', 'null'],
      description: 'The licence of the API; null: none is named.',
      additionalProperties: false,
      required: ['name'],
      properties: {
        name: { type: 'string', description: 'Its name.', minLength: 1 },
        identifier: { type: 'string', description: 'Its SPDX identifier.', minLength: 1, examples: ['CC-BY-4.0'] },
        url: url('Its text.'),
      },
    },
    instructions: { type: 'string', description: 'What AI assistants are told of the data: units, how to find codes.' },
    keyPrefix: {
      type: 'string',
      description:
        'Begins every new API key, so that one that leaked is recognised. Keys with another prefix stay valid.',
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
    $schema: { type: 'string', description: 'Where editors find this schema.' },
    service: { ...serviceSchema, default: {} },
    server: section('The listening socket and its bounds.', {
      host: { type: 'string', description: 'Address to listen on.', minLength: 1, default: '127.0.0.1' },
      port: count('Port to listen on; 0 takes a free one.', 0, 65_535, 8080),
      basePath: {
        type: 'string',
        description: 'Comes before the path of every endpoint; empty for none.',
        pattern: '^(/[A-Za-z0-9._~-]+)*$',
        examples: ['/api/v1'],
        default: '/api/v1',
      },
      trustProxy: {
        oneOf: [
          { type: 'integer', minimum: 0, maximum: 16 },
          { type: 'array', minItems: 1, maxItems: 100, items: { type: 'string', minLength: 1 } },
        ],
        description:
          'How many proxies stand before the service: the caller is that many entries from the right of X-Forwarded-For. 0: the header is ignored. Or the networks that proxies are in: the header is ignored unless the connection comes from one of them, and the caller is its rightmost entry that is in none.',
        examples: [1, ['10.0.0.0/8', 'fd00::/8']],
        default: 0,
      },
      workers: count('Processes that share the port; 0: one for each CPU.', 0, 256, 1),
      drainDelayMs: count(
        'How long /health fails before the service stops listening at SIGTERM, so that load balancers see it first: their interval times the failures that they wait for. Connections close after their next answer meanwhile. In milliseconds.',
        0,
        600_000,
        1000,
      ),
      drainMs: milliseconds('How long running requests may take to finish at shutdown.', 10_000),
      maxUrlBytes: count(
        'Longest request target, in bytes; a longer one is a 414. A head whose target and header fields exceed this and maxHeaderBytes together is a 431, since no more of it is read.',
        64,
        65_536,
        8192,
      ),
      maxHeaderBytes: count(
        'Most bytes of the header fields of a request, without its request line: of each field its name, its value and 4 between and behind them. More are a 431.',
        1024,
        1_048_576,
        16_384,
      ),
      maxHeaders: count('Most header fields of a request; more are a 431.', 16, 10_000, 100),
      maxConnections: count('Most sockets open at once.', 1, 1_000_000, 10_000),
      maxConnectionsPerAddress: count(
        'Most sockets open at once from one IPv4 address or IPv6 /64 network; not applied to trusted proxies: to nobody where trustProxy is a number above 0.',
        1,
        1_000_000,
        2000,
      ),
      headersTimeoutMs: milliseconds("How long a request's headers may take to arrive.", 10_000),
      requestTimeoutMs: milliseconds('How long a whole request may take to arrive.', 15_000),
      stallTimeoutMs: milliseconds('How long a client may leave a response unread.', 10_000),
      keepAliveTimeoutMs: milliseconds(
        'How long an idle connection is kept; longer than the load balancer before it keeps one (often 60 s).',
        75_000,
      ),
      overload: nullable(
        section('When requests are refused with 503 so that the others keep their latency; null: never.', {
          maxInFlight: count(
            'Most requests in flight at once, and most that wait in the work queue.',
            1,
            1_000_000,
            2000,
          ),
          maxEventLoopDelayMs: milliseconds(
            'How long the event loop may work on requests that arrived together, while more arrive the longer it takes.',
            50,
          ),
        }),
      ),
    }),
    http: section('Limits on requests, and how responses are sent.', {
      unknownParameters: {
        type: 'string',
        description: 'What happens to query parameters that an endpoint does not have.',
        enum: ['reject', 'ignore'],
        default: 'reject',
      },
      cors: nullable(
        section('Which pages in browsers may call; null: only those of the same origin.', {
          origin: {
            type: ['string', 'array'],
            description: '"*" for every origin, or the allowed ones.',
            pattern: '^(\\*|https?://[^/\\s]+)$',
            items: { type: 'string', pattern: '^https?://[^/\\s]+$', examples: ['https://app.example.com'] },
            minItems: 1,
            uniqueItems: true,
            examples: ['*', ['https://app.example.com']],
            default: '*',
          },
          maxAgeSeconds: count('How long browsers may keep the permission.', 0, 86_400, 86_400),
        }),
      ),
      compression: { type: 'boolean', description: 'Whether responses are compressed, as br or gzip.', default: true },
      cacheBytes: count(
        'Memory for cached representations, in bytes; 0: none are cached.',
        0,
        2 ** 40,
        64 * 1024 * 1024,
      ),
      answerMs: milliseconds(
        'How long all reads for one response may take, before it is a 503; shorter than the proxy before the service waits.',
        4000,
      ),
      responseCheck: {
        enum: ['off', 'sample', 'report', 'cut', 'refuse'],
        description:
          'Answers that the schemas of their routes do not describe: sample logs them of one answer in a hundred, report of all, cut takes undeclared properties out and logs the rest, refuse makes them a 500. Cached responses are not checked again.',
        default: 'off',
      },
      csvFormulaGuard: {
        type: 'boolean',
        description:
          'Whether texts in CSV that a spreadsheet would run as a formula get an apostrophe before them; false: every cell is exact.',
        default: true,
      },
    }),
    adapter: module('Where the data is read from.'),
    plugins: {
      type: 'array',
      description: 'The plugins: groups of endpoints.',
      items: module('A group of endpoints.'),
    },
    auth: section('Who may call.', {
      realm: {
        type: 'string',
        description:
          "Named to callers without a key, in WWW-Authenticate. Absent: the service's title, or API where that is not ASCII.",
        pattern: '^[ !#-\\[\\]-~]+$',
        examples: ['Example API'],
      },
      tiers: {
        type: ['array', 'object'],
        description:
          'Tiers of keys that are entitled; new keys get the first. A list of names; or each by its name with its terms, and then the usage of all callers with a tier is counted.',
        minItems: 1,
        minProperties: 1,
        uniqueItems: true,
        items: { type: 'string', minLength: 1 },
        propertyNames: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,49}$', examples: ['free'] },
        additionalProperties: {
          type: 'object',
          description: 'What callers of the tier may send.',
          additionalProperties: false,
          properties: {
            requestsPerMinute: {
              ...atLeastOne,
              description: 'For keys without a limit of their own. Absent: limits.requestsPerMinute.',
            },
            requestsPerDay: { ...atLeastOne, description: 'Quota of a UTC day. Absent: none.' },
            requestsPerMonth: { ...atLeastOne, description: 'Quota of a UTC calendar month. Absent: none.' },
            endpoints: {
              type: 'array',
              description:
                'The plugins, routes and mounts that it includes, of those that need a key: "markets", "/markets/{cbsa}", "/mcp". Absent: all.',
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
        description: 'The tier of callers without a key, each counted by its address; null: they need one.',
        minLength: 1,
        examples: ['free'],
        default: null,
      },
      peppers: {
        type: 'object',
        description:
          'Secrets that are mixed into what is kept of keys, by version: 1, 2, ...; new keys get the highest one. Better given by the environment than in this file.',
        propertyNames: { type: 'string', pattern: '^[1-9][0-9]{0,3}$', examples: ['1'] },
        additionalProperties: { type: 'string', minLength: 32, 'x-secret': true },
        default: {},
      },
      keys: module('Where API keys are kept.', { default: { use: 'file', options: { path: 'keys.json' } } }),
    }),
    limits: section('How often one caller may ask.', {
      requestsPerMinute: count('For keys without a limit of their own, and for callers without a key.', 1, 1e9, 600),
      replicas: count('How many processes share a limit while Redis is away.', 1, 10_000, 1),
      whenRedisIsAway: {
        type: 'string',
        description:
          'local: each replica counts on its own, at the limit divided by replicas; closed: 503; open: no limit.',
        enum: ['local', 'closed', 'open'],
        default: 'local',
      },
    }),
    redis: redisSchema,
    log: section('The log on standard error.', {
      level: {
        type: 'string',
        description: 'The least serious line that is written.',
        enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
        default: 'info',
      },
      format: {
        type: 'string',
        description: 'One JSON object a line, or text for people; auto: text on a terminal.',
        enum: ['auto', 'json', 'pretty'],
        default: 'auto',
      },
      addresses: {
        type: 'string',
        description:
          "How much of the caller's address a request's line has. network: the /24 of IPv4, the /48 of IPv6; full: the address of IPv4, the /64 of IPv6. Addresses are personal data in many places.",
        enum: ['none', 'network', 'full'],
        default: 'none',
      },
    }),
    metrics: {
      ...nullable(
        section(
          'Prometheus metrics at /metrics of a socket of their own; null: none. They are for operators: keep the port private.',
          {
            host: { type: 'string', description: 'Address to listen on.', minLength: 1, default: '127.0.0.1' },
            port: count('Port to listen on; 0 takes a free one.', 0, 65_535, 9464),
          },
        ),
      ),
      default: null,
    },
  },
} as const satisfies JsonSchema;

type Sections = WithDefaults<typeof configSchema>;

/** Written out, since the type inferred of `origin`, a text or a list, lacks the text. */
interface CorsConfig {
  readonly origin: string | readonly string[];
  readonly maxAgeSeconds: number;
}

/** A configuration as the service reads it: checked, with every default filled in. */
export interface Config {
  /** Laid over what the plugins and the framework say. */
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
