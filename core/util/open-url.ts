import { OperatorError } from '../errors.js';

/** Maximum wait for a response or further data from a server, in milliseconds. */
const SILENCE_MS = 30_000;

interface UrlOptions {
  /** Default: 30 seconds. */
  readonly silenceMs?: number | undefined;
  /** The maximum size of the response. Unlimited by default. */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OpenedBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** The size in bytes. Undefined if it is not known in advance. */
  readonly size: number | undefined;
}

/** The message of a `fetch` error is only "fetch failed". Its `cause` contains the reason. */
const reason = (error: unknown): string => {
  const { cause, message } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message || (cause as NodeJS.ErrnoException).code}` : message;
};

/** @throws OperatorError if the URL cannot be fetched */
export const openUrl = async (url: string, options: UrlOptions = {}): Promise<OpenedBytes> => {
  const { silenceMs = SILENCE_MS, maxBytes = Number.POSITIVE_INFINITY, signal } = options;
  const controller = new AbortController();
  const giveUp = () => controller.abort(new Error(`the server was silent for ${silenceMs / 1000} seconds`));
  const timer = setTimeout(giveUp, silenceMs);
  const fail = (error: unknown): never => {
    clearTimeout(timer);
    throw new OperatorError(`Cannot fetch ${url}: ${reason(error)}`, [], { cause: error });
  };
  const stop = signal ? AbortSignal.any([controller.signal, signal]) : controller.signal;
  const response = await fetch(url, { signal: stop }).catch(fail);
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    return fail(new Error(`the server responded with ${response.status} ${response.statusText}`.trim()));
  }
  const body: AsyncIterable<Uint8Array> = response.body;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    try {
      let size = 0;
      for await (const chunk of body) {
        timer.refresh();
        size += chunk.length;
        if (size > maxBytes) throw new Error(`the response has more than ${maxBytes / 2 ** 20} MiB`);
        yield chunk;
      }
    } catch (error) {
      fail(error);
    } finally {
      clearTimeout(timer);
    }
  }
  // For a compressed response, `content-length` is the compressed size. The size of the data is unknown.
  const length = response.headers.has('content-encoding') ? null : response.headers.get('content-length');
  return { bytes: bytes(), size: length === null ? undefined : Number(length) };
};
