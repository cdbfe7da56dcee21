/** What can be set: where MongoDB is, how long anything may wait for it, and how large the steps are. */
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

/** As the config gives them: all but the address have defaults. */
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
      'Connection string. The environment variable MONGODB_URI overrides it, and is the place for a password.',
  },
  database: {
    type: 'string',
    pattern: '^[^/\\\\. "$*<>:|?\\u0000]{1,63}$',
    description: 'Absent: the database that `uri` names, or else `dataset`.',
  },
  serverSelectionMs: integer(500, 1, 'How long an operation waits for a server that can serve it.'),
  connectMs: integer(1000, 1, 'How long making a connection may take.'),
  waitQueueMs: integer(500, 1, 'How long an operation waits for a free connection.'),
  operationMs: integer(1500, 50, 'How long one read may take altogether, the waits above and a retry included.'),
  poolMin: integer(1, 0, 'Connections that are kept open.'),
  poolMax: integer(50, 1, 'Connections that are open at most.'),
  pollMs: integer(1000, 20, 'How often to look for changes. Where there are change streams, they are noticed sooner.'),
};

const publishing = {
  batchSize: integer(2000, 1, 'Documents per batch, when reading and when publishing.'),
  holdMs: integer(60_000, 1000, 'How long a replica that has stopped answering keeps its versions from being pruned.'),
  lockMs: integer(15_000, 500, 'How long a publisher that has stopped keeps the next one waiting.'),
  writeMs: integer(30_000, 1000, 'How long one write of a publication may take.'),
};

const schemaOf = (properties: Record<string, JsonSchema>) => ({
  type: 'object',
  required: ['uri'],
  additionalProperties: false,
  properties,
});

export const connectionOptions = schemaOf(connection);
export const mongoOptions = schemaOf({ ...connection, ...publishing });

/** Fills in the defaults of the schema. */
export const withDefaults = <Options extends ConnectionOptions>(
  schema: { readonly properties: Readonly<Record<string, JsonSchema>> },
  given: Given<Options>,
): Options => {
  const defaults = Object.entries(schema.properties).flatMap(([name, property]) =>
    'default' in property ? [[name, property['default']]] : [],
  );
  return { ...Object.fromEntries(defaults), ...given } as Options;
};

/** For publishing: writes take longer than reads may, and rather wait for an election than fail. */
export const forWriting = <Options extends MongoOptions>(options: Options): Options => ({
  ...options,
  operationMs: options.writeMs,
  serverSelectionMs: Math.max(options.serverSelectionMs, options.writeMs / 3),
});
