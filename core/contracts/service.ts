/** Who a service is: its names and texts in the OpenAPI document, pages, keys, tools and errors. */

/** A change of the interface that its callers notice. */
export interface InterfaceChange {
  /** The version of the interface that has the change; `Unreleased` before a release has it. */
  readonly version: string;
  /** Markdown, in a sentence or two. */
  readonly summary: string;
  /** By `operationId`. The document omits a change if the service has none of its operations. */
  readonly operations?: readonly string[];
}

export interface ServiceInfo {
  /** For machines: lower-case words with hyphens between, as in `rain-gauges`. */
  readonly name: string;
  readonly title: string;
  /** Of the interface, not of a package. */
  readonly version: string;
  /** One sentence; may be empty. */
  readonly summary: string;
  /** Markdown about the data; may be empty. */
  readonly description: string;
  /** Markdown about how the API responds; stands after the description. */
  readonly conventions: string;
  /** Newest first; may be empty. */
  readonly changes: readonly InterfaceChange[];
  readonly contact: { readonly name?: string; readonly url?: string; readonly email?: string };
  readonly termsOfService: string | null;
  /** Of the API; with an SPDX identifier or a URL. */
  readonly license: { readonly name: string; readonly identifier?: string; readonly url?: string } | null;
  /** What AI assistants are told of the data before they call tools. */
  readonly instructions: string;
  /** Begins every new API key, so that people and secret scanners recognise a key that leaked. */
  readonly keyPrefix: string;
}

/** How every service of the framework responds, as paragraphs of Markdown. */
export const conventions = {
  lists:
    '**Lists** are `{"data": [...]}`. Every response comes from one published snapshot, named by its `Snapshot-Version`\nheader.',
  csv: `**CSV.** Lists are sent as CSV too (RFC 4180), by \`format=csv\` or \`Accept: text/csv\`. Columns are the properties of the
rows. Null is an empty field; an array is one field of JSON. Texts that a spreadsheet would run as a formula begin with
an apostrophe.`,
  vintages: `**Vintages.** Endpoints with the parameter \`as_of\` can be asked for a date: they respond from the snapshot that was
current when that day ended, in UTC, where the store keeps it.`,
  methods: `**Methods.** Every address answers GET, HEAD (as GET, without the body) and OPTIONS (204, with \`Allow\`); any other
method gets 405 \`method_not_allowed\`.`,
  limits: '**Limits.** A sliding window of 60 seconds for each key. `RateLimit` says what is left.',
  caching:
    '**Caching.** Every 200 has a strong `ETag`: send it back in `If-None-Match` and get 304 while nothing has changed.',
} as const;

/** The names and texts of a service that neither its configuration nor a plugin defines. */
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
  instructions: 'Nulls are values that are not known. Look codes up in a list before asking for a single item.',
  keyPrefix: 'api_',
};
