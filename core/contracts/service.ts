/** The names and texts of a service in its OpenAPI document, pages, keys, tools and errors. */

/** A change of the API that callers notice. */
export interface InterfaceChange {
  /** The version of the API with the change, or `Unreleased`. */
  readonly version: string;
  /** Markdown, one or two sentences. */
  readonly summary: string;
  /**
   * The `operationId` of each affected operation. The OpenAPI document omits a change if the service has none of them.
   */
  readonly operations?: readonly string[];
}

export interface ServiceInfo {
  /** A machine-readable name: lower-case words with hyphens, such as `rain-gauges`. */
  readonly name: string;
  readonly title: string;
  /** The version of the API, not of a package. */
  readonly version: string;
  /** One sentence; may be empty. */
  readonly summary: string;
  /** Markdown about the data; may be empty. */
  readonly description: string;
  /** Markdown about how the API responds. The OpenAPI document shows it after the description. */
  readonly conventions: string;
  /** Newest first; may be empty. */
  readonly changes: readonly InterfaceChange[];
  readonly contact: { readonly name?: string; readonly url?: string; readonly email?: string };
  readonly termsOfService: string | null;
  /** The licence of the API, with an SPDX identifier or a URL. */
  readonly license: { readonly name: string; readonly identifier?: string; readonly url?: string } | null;
  /** Instructions for AI assistants that call the tools. */
  readonly instructions: string;
  /** The start of every new API key. It helps people and secret scanners to recognise leaked keys. */
  readonly keyPrefix: string;
}

/** Paragraphs of Markdown about how every service of the framework responds. */
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

/** The default names and texts of a service. */
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
  license: null,
  instructions: 'Null is an unknown value. Look up codes in a list before you request a single item.',
  keyPrefix: 'api_',
};
