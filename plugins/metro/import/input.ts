import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { files } from 'metro-forecast-api/adapter';
import { OperatorError } from 'metro-forecast-api/plugin';

interface Opened {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** In bytes. Undefined if the size is not known in advance. */
  readonly size: number | undefined;
}

export interface Input {
  readonly name: string;
  readonly found: boolean;
  /** @throws OperatorError or errors from `node:fs` */
  open(): Promise<Opened>;
}

/** The limit of 1 GiB is more than ten times the size of the largest file from FHFA or FRED. */
const MAX_BYTES = 2 ** 30;
/** Maximum wait for a response or further data from a server, in milliseconds. */
const SILENCE_MS = 30_000;

/** The message of a `fetch` error is only "fetch failed". Its `cause` contains the reason. */
const reason = (error: unknown): string => {
  const { cause, message } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message || (cause as NodeJS.ErrnoException).code}` : message;
};

const openFile = async (path: string): Promise<Opened> => {
  const { size } = await stat(path);
  return { bytes: files.streamRegular(path, MAX_BYTES), size };
};

/** @throws OperatorError if the URL cannot be fetched */
export const openUrl = async (
  url: string,
  silenceMs = SILENCE_MS,
  maxBytes = MAX_BYTES,
  stop: AbortSignal = new AbortController().signal,
): Promise<Opened> => {
  const controller = new AbortController();
  const giveUp = () => controller.abort(new Error(`the server was silent for ${silenceMs / 1000} seconds`));
  const timer = setTimeout(giveUp, silenceMs);
  const fail = (error: unknown): never => {
    clearTimeout(timer);
    throw new OperatorError(`Cannot fetch ${url}: ${reason(error)}`, [], { cause: error });
  };
  const response = await fetch(url, { signal: AbortSignal.any([controller.signal, stop]) }).catch(fail);
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

const walk = async (directory: string): Promise<string[]> => {
  const entries = await readdir(directory, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const paths = entries
    .filter(({ name }) => !name.startsWith('.'))
    .map(async (entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return walk(path);
      // Symbolic links to directories can form a cycle, so they are not followed.
      return (await stat(path).catch(() => undefined))?.isFile() ? [path] : [];
    });
  return (await Promise.all(paths)).flat();
};

/**
 * Finds the files and URLs to import. Directories are searched recursively, except for hidden files and folders.
 * @param sources paths and http(s) URLs
 * @throws OperatorError that lists every source that does not exist or contains no files
 */
export const findInputs = async (
  sources: readonly string[],
  options: { readonly silenceMs?: number } = {},
): Promise<Input[]> => {
  const errors: string[] = [];
  const inputs: Input[] = [];
  for (const source of sources) {
    if (/^https?:\/\//i.test(source)) {
      if (!URL.canParse(source)) errors.push(`${source}: is not a valid URL`);
      else inputs.push({ name: source, found: false, open: () => openUrl(source, options.silenceMs ?? SILENCE_MS) });
      continue;
    }
    try {
      const found = (await stat(source)).isDirectory();
      const paths = found ? await walk(source) : [source];
      if (paths.length === 0) errors.push(`${source}: there are no files in this directory`);
      inputs.push(...paths.map((path) => ({ name: path, found, open: () => openFile(path) })));
    } catch (error) {
      errors.push(`${source}: ${files.fileErrorReason(error)}`);
    }
  }
  if (errors.length > 0) throw new OperatorError('These sources cannot be read:', errors);
  return inputs;
};
