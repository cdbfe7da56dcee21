export interface InterfaceChange {
  /** The API version that introduced the change, or `Unreleased`. */
  readonly version: string;
  /** A summary of the change: one or two sentences in Markdown. */
  readonly summary: string;
  /**
   * The `operationId` of each affected operation. The OpenAPI document omits changes whose operations the service does
   * not have.
   */
  readonly operations?: readonly string[];
}

export interface ServiceInfo {
  /** A machine-readable name of the service: lower-case words joined by hyphens, such as `rain-gauges`. */
  readonly name: string;
  readonly title: string;
  /** The API version, which is independent of the package version. */
  readonly version: string;
  /** One sentence about the service. May be empty. */
  readonly summary: string;
  /** A description of the service in Markdown. May be empty. */
  readonly description: string;
  /** Describes how the API behaves, in Markdown. Shown after `description` in the OpenAPI document. */
  readonly conventions: string;
  /** Changes to the API, newest first. May be empty. */
  readonly changes: readonly InterfaceChange[];
  readonly contact: { readonly name?: string; readonly url?: string; readonly email?: string };
  readonly termsOfService: string | null;
  /** The page where callers can get an API key. */
  readonly getKeyUrl: string | null;
  /** The licence of the API, with an SPDX identifier or a URL. */
  readonly license: { readonly name: string; readonly identifier?: string; readonly url?: string } | null;
  /** Instructions for AI assistants that use the tools of the service. */
  readonly instructions: string;
  /** The prefix of every new API key. It helps people and secret scanners recognise leaked keys. */
  readonly keyPrefix: string;
}

export const conventions = {
  lists:
    '**Lists** are `{"data": [...]}`. Every response comes from one published snapshot, named in the header\n`Snapshot-Version`.',
  csv: `**CSV.** Lists are also available as CSV (RFC 4180), with \`format=csv\` or \`Accept: text/csv\`. Each property
of the rows is a column. Null becomes an empty field, and an array becomes JSON text. Text that a spreadsheet would run as a
formula is prefixed with an apostrophe.`,
  vintages: `**Vintages.** Endpoints with the parameter \`as_of\` accept a date. The response comes from the
snapshot that was current at the end of that day (UTC), if the store has it.`,
  methods: `**Methods.** Every endpoint supports GET, HEAD (as GET, without the body) and OPTIONS (204, with \`Allow\`). Other
methods return 405 \`method_not_allowed\`.`,
  limits: '**Limits.** Each key has a sliding 60-second window. `RateLimit` shows the remaining requests.',
  caching:
    '**Caching.** Every 200 has a strong `ETag`. Send it back in `If-None-Match` to get a 304 if nothing has changed.',
} as const;

export const defaultService: ServiceInfo = {
  name: 'api',
  title: 'API',
  version: '1.0.0',
  summary: '',
  description: '',
  conventions: Object.values(conventions).join('\n\n'),
  changes: [],
  contact: { name: 'The operator of this service' },
  termsOfService: null,
  getKeyUrl: null,
  license: null,
  instructions: 'Null is an unknown value. Look up codes in a list before you request a single item.',
  keyPrefix: 'api_',
};
