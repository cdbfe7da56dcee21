import type { JsonSchema } from 'metro-forecast-api/adapter';

export interface ConnectionOptions {
  readonly uri: string;
  readonly database?: string;
  readonly serverSelectionMs: number;
  readonly connectMs: number;
  readonly waitQueueMs: number;
  readonly operationMs: number;
  readonly poolMin: number;
  readonly poolMax: number;
  readonly pollMs: number;
}

export interface MongoOptions extends ConnectionOptions {
  readonly batchSize: number;
  readonly holdMs: number;
  readonly lockMs: number;
  readonly writeMs: number;
}

export type Given<Options extends ConnectionOptions> = Partial<Options> & Pick<Options, 'uri'>;

const integer = (preset: number, minimum: number, description: string) => ({
  type: 'integer',
  minimum,
  default: preset,
  description,
});

const connection = {
  uri: {
    type: 'string',
    pattern: '^mongodb(\\+srv)?://',
    'x-secret': true,
    'x-variable': 'MONGODB_URI',
    description:
      'Connection string. If it contains a password, set the environment variable MONGODB_URI, which overrides this.',
  },
  database: {
    type: 'string',
    pattern: '^[^/\\\\. "$*<>:|?\\u0000]{1,63}$',
    description: 'Name of the database. Default: the database named in `uri`, or else `dataset`.',
  },
  serverSelectionMs: integer(500, 1, 'Timeout for finding a server that accepts the operation, in milliseconds.'),
  connectMs: integer(1000, 1, 'Timeout for opening a connection, in milliseconds.'),
  waitQueueMs: integer(500, 1, 'Timeout for waiting for a free connection, in milliseconds.'),
  operationMs: integer(
    1500,
    50,
    'Timeout for one read as a whole, including server selection, connecting, waiting and a retry, in milliseconds.',
  ),
  poolMin: integer(1, 0, 'Minimum number of open connections.'),
  poolMax: integer(50, 1, 'Maximum number of open connections.'),
  pollMs: integer(
    1000,
    20,
    'Interval between checks for changes, in milliseconds. On a replica set, change streams report changes sooner.',
  ),
};

const publishing = {
  batchSize: integer(2000, 1, 'Documents per batch when reading and publishing.'),
  holdMs: integer(
    60_000,
    1000,
    'How long the versions that a replica uses are protected from pruning after it stops responding, in milliseconds.',
  ),
  lockMs: integer(15_000, 500, 'How long the lock of an interrupted publication blocks the next one, in milliseconds.'),
  writeMs: integer(30_000, 1000, 'Timeout for one write of a publication, in milliseconds.'),
};

const schemaOf = (properties: Record<string, JsonSchema>) => ({
  type: 'object',
  required: ['uri'],
  additionalProperties: false,
  properties,
});

export const connectionOptions = schemaOf(connection);
export const mongoOptions = schemaOf({ ...connection, ...publishing });

export const withDefaults = <Options extends ConnectionOptions>(
  schema: { readonly properties: Readonly<Record<string, JsonSchema>> },
  given: Given<Options>,
): Options => {
  const defaults = Object.entries(schema.properties).flatMap(([name, property]) =>
    'default' in property ? [[name, property['default']]] : [],
  );
  return { ...Object.fromEntries(defaults), ...given } as Options;
};

/** Writes have longer timeouts than reads, so that they survive an election. */
export const forWriting = <Options extends MongoOptions>(options: Options): Options => ({
  ...options,
  operationMs: options.writeMs,
  serverSelectionMs: Math.max(options.serverSelectionMs, options.writeMs / 3),
});
