/** A thin typed client of the API, for Node from 20 on and for browsers: `fetch`, and nothing else. */
import type { Error as ErrorBody, Paths } from './api-types.js';

export type * from './api-types.js';

/** CSV is for programs that read it themselves. */
type Input<T> = T extends { readonly input: infer I } ? Omit<I, 'format'> : never;
type Output<T> = T extends { readonly output: infer O } ? O : never;
/** The input may be left out where nothing in it is required. */
type Arguments<I> =
  Record<never, never> extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions];

export interface ClientOptions {
  /** With the base path: `https://api.example.com/api/v1`. */
  readonly baseUrl: string;
  readonly key?: string;
  /** How often a request is sent again after a 429, a 503 or a broken connection. Default 3. */
  readonly retries?: number;
  /** A longer wait is not made: the error is thrown at once. In seconds, default 60. */
  readonly maxWaitSeconds?: number;
  /** Keeps answers by URL, and asks whether they are current by their ETags. Browsers do so by themselves. */
  readonly cache?: Map<string, CachedAnswer>;
  /** Told of every response, for its headers: `Snapshot-Version`, `RateLimit`, `X-Request-Id`. */
  readonly onResponse?: (response: Response) => void;
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface CachedAnswer {
  readonly etag: string;
  readonly body: unknown;
}

/** The API refused. `code` is stable; `message` says what to do. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: NonNullable<ErrorBody['details']>;
  /** To be named when reporting it. */
  readonly requestId: string | null;
  /** Seconds after which it may work, where the API said so. */
  readonly retryAfter: number | null;

  constructor({ status, headers }: Response, body: Partial<ErrorBody> | undefined) {
    super(body?.error ?? `The service answered with status ${status}.`);
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
   * Asks one path: `client.get('/markets/{cbsa}/history', { cbsa: '26420' })`.
   * @throws ApiError when the API refuses, after the retries; what `fetch` throws, when it cannot be reached
   */
  get<Path extends keyof P & string>(path: Path, ...args: Arguments<Input<P[Path]>>): Promise<Output<P[Path]>>;
}

const RETRIED: ReadonlySet<number> = new Set([429, 503]);

/** @typeParam P paths with their types, as `metro-forecast types` prints them for an API with other plugins */
export const createClient = <P = Paths>({
  baseUrl,
  key,
  retries = 3,
  maxWaitSeconds = 60,
  cache,
  onResponse,
  fetch: send = globalThis.fetch,
}: ClientOptions): Client<P> => {
  const ask = async (url: string, signal: AbortSignal | undefined): Promise<unknown> => {
    const known = cache?.get(url);
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (key !== undefined) headers['Authorization'] = `Bearer ${key}`;
    if (known) headers['If-None-Match'] = known.etag;
    const response = await send(url, { headers, ...(signal ? { signal } : {}) });
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
          return (await ask(url, signal)) as never;
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
  for (const [name, value] of given) if (!template.includes(`{${name}}`)) query.set(name, String(value));
  const path = template.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])));
  const search = query.toString();
  return `${baseUrl.replace(/\/$/, '')}${path}${search === '' ? '' : `?${search}`}`;
};

/** Seconds until the next attempt; undefined where another one would change nothing. */
const waitOf = (error: unknown, attempt: number): number | undefined => {
  const backoff = 0.25 * 2 ** attempt;
  // What fetch throws when a connection broke. An abort is something else.
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
