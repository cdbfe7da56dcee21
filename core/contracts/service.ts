/** The names and texts that a service shows in its OpenAPI document, pages, API keys, tools and errors. */

/** A change to the API that callers can notice. */
export interface InterfaceChange {
  /** The API version that introduced the change, or `Unreleased`. */
  readonly version: string;
  /** One or two sentences of Markdown. */
  readonly summary: string;
  /**
   * The `operationId` of each affected operation. The OpenAPI document omits a change if the service has none of these.
   */
  readonly operations?: readonly string[];
}

export interface ServiceInfo {
  /** A machine-readable name: lower-case words joined by hyphens, such as `rain-gauges`. */
  readonly name: string;
  readonly title: string;
  /** The version of the API, which is not the version of a package. */
  readonly version: string;
  /** One sentence; may be empty. */
  readonly summary: string;
  /** A description of the data in Markdown; may be empty. */
  readonly description: string;
  /** A description, in Markdown, of how the API behaves. The OpenAPI document shows it after `description`. */
  readonly conventions: string;
  /** Newest first; may be empty. */
  readonly changes: readonly InterfaceChange[];
  readonly contact: { readonly name?: string; readonly url?: string; readonly email?: string };
  readonly termsOfService: string | null;
  /** The page where callers get an API key. */
  readonly getKeyUrl: string | null;
  /** The licence of the API, with an SPDX identifier or a URL. */
  readonly license: { readonly name: string; readonly identifier?: string; readonly url?: string } | null;
  /** Instructions for AI assistants that use the service through its tools. */
  readonly instructions: string;
  /** The prefix of every new API key. It helps people and secret scanners recognise leaked keys. */
  readonly keyPrefix: string;
}

/** Markdown paragraphs about the behaviour that all services of the framework share. */
export const conventions = {
  lists:
    '**Lists** are `{"data": [...]}`. Every response comes from one published snapshot, named in the header\n`Snapshot-Version`.',
  csv: `**CSV.** Lists are also available as CSV (RFC 4180), with \`format=csv\` or \`Accept: text/csv\`. Columns are the properties of
the rows. Null is an empty field; an array is a field with JSON. Text that a spreadsheet would run as a formula starts with
an apostrophe.`,
  vintages: `**Vintages.** Endpoints with the parameter \`as_of\` accept a date. They respond from the snapshot that was
current when that day ended, in UTC, if the store has it.`,
  methods: `**Methods.** Every endpoint supports GET, HEAD (as GET, without the body) and OPTIONS (204, with \`Allow\`). Other
methods get 405 \`method_not_allowed\`.`,
  limits: '**Limits.** A sliding window of 60 seconds for each key. `RateLimit` shows the remaining requests.',
  caching:
    '**Caching.** Every 200 has a strong `ETag`. Send it in `If-None-Match` to get 304 while nothing has changed.',
} as const;

/** The names and texts of a service that defines none. */
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
