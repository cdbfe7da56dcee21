/** A typed client for the API. The client runs in Node 20 or later and in browsers, and has no dependencies. */
import type { Error as ErrorBody, Paths } from './api-types.js';

export type * from './api-types.js';

type Input<T> = T extends { readonly input: infer I } ? Omit<I, 'format'> : never;
type Output<T> = T extends { readonly output: infer O } ? O : never;
type Arguments<I> =
  Record<never, never> extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions];

export interface ClientOptions {
  /** URL of the API, including its base path, such as `https://api.example.com/api/v1`. */
  readonly baseUrl: string;
  readonly key?: string;
  /** Maximum number of retries after a 429, a 503 or a network error. Default: 3. */
  readonly retries?: number;
  /**
   * Maximum wait before a retry, in seconds. If the API asks for a longer wait, the client throws the error instead of
   * retrying. Default: 60.
   */
  readonly maxWaitSeconds?: number;
  /**
   * Cache of responses by URL. The client revalidates them with `If-None-Match`. Browsers have their own cache and do
   * not need this option.
   */
  readonly cache?: Map<string, CachedResponse>;
  /** Called with every response, for example to read the headers `Snapshot-Version`, `RateLimit` and `X-Request-Id`. */
  readonly onResponse?: (response: Response) => void;
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface CachedResponse {
  readonly etag: string;
  readonly body: unknown;
}

/** Error response from the API. `code` is stable across versions, and `message` explains what to do. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: NonNullable<ErrorBody['details']>;
  /** Request id to quote in bug reports, or null if the response has none. */
  readonly requestId: string | null;
  /** Seconds from the `Retry-After` header, or null. */
  readonly retryAfter: number | null;

  constructor({ status, headers }: Response, body: Partial<ErrorBody> | undefined) {
    super(body?.error ?? `The service responded with status ${status}.`);
    this.status = status;
    this.code = body?.code ?? 'unknown';
    this.details = body?.details ?? [];
    this.requestId = headers.get('x-request-id');
    const seconds = headers.get('retry-after');
    this.retryAfter = seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : null;
  }
}

export interface Client<P = Paths> {
  /**
   * Sends a GET request, such as `client.get('/markets/{cbsa}/history', { cbsa: '26420' })`.
   * @param path path template
   * @param input path and query parameters by name
   * @throws ApiError if the API responds with an error and no retry succeeds
   * @throws TypeError from `fetch` if the API is unreachable and no retry succeeds
   */
  get<Path extends keyof P & string>(path: Path, ...args: Arguments<Input<P[Path]>>): Promise<Output<P[Path]>>;
}

const RETRIED: ReadonlySet<number> = new Set([429, 503]);

/**
 * Creates a client.
 * @typeParam P types of the API's paths. `metro-forecast types` generates these types for other services
 */
export const createClient = <P = Paths>({
  baseUrl,
  key,
  retries = 3,
  maxWaitSeconds = 60,
  cache,
  onResponse,
  fetch = globalThis.fetch,
}: ClientOptions): Client<P> => {
  const send = async (url: string, signal: AbortSignal | undefined): Promise<unknown> => {
    const known = cache?.get(url);
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (key !== undefined) headers['Authorization'] = `Bearer ${key}`;
    if (known) headers['If-None-Match'] = known.etag;
    const response = await fetch(url, { headers, ...(signal ? { signal } : {}) });
    onResponse?.(response);
    if (response.status === 304 && known) return known.body;
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok || body === undefined) throw new ApiError(response, body as Partial<ErrorBody> | undefined);
    const etag = response.headers.get('etag');
    if (etag !== null) cache?.set(url, { etag, body });
    return body;
  };
  return {
    async get(path, ...[input, { signal } = {}]) {
      const url = urlOf(baseUrl, path, (input ?? {}) as Readonly<Record<string, unknown>>);
      for (let attempt = 0; ; attempt++) {
        try {
          return (await send(url, signal)) as never;
        } catch (error) {
          const seconds = waitOf(error, attempt);
          if (seconds === undefined || attempt >= retries || seconds > maxWaitSeconds) throw error;
          await wait(seconds * 1000, signal);
        }
      }
    },
  };
};

const urlOf = (baseUrl: string, template: string, input: Readonly<Record<string, unknown>>): string => {
  const query = new URLSearchParams();
  const given = Object.entries(input).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of given) {
    if (template.includes(`{${name}}`)) continue;
    if (typeof value !== 'object' || Array.isArray(value)) query.set(name, String(value));
    else
      for (const [operator, limit] of Object.entries(value as object)) query.set(`${name}[${operator}]`, String(limit));
  }
  const path = template.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])));
  const search = query.toString();
  return `${baseUrl.replace(/\/$/, '')}${path}${search === '' ? '' : `?${search}`}`;
};

const waitOf = (error: unknown, attempt: number): number | undefined => {
  const backoff = 0.25 * 2 ** attempt;
  // `fetch` throws a TypeError for network errors, and a different error for an abort.
  if (error instanceof TypeError) return backoff;
  if (error instanceof ApiError && RETRIED.has(error.status)) return error.retryAfter ?? backoff;
  return undefined;
};

const wait = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
