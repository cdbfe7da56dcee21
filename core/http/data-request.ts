/** One question to a data route, and its answer from a snapshot. */
import { createHash } from 'node:crypto';
import type { DataRoute, SnapshotReader, StreamedList } from '../contracts/plugin.js';
import { longWork, type Pauses } from '../event-loop.js';
import { remember } from '../remember.js';
import type { Form } from './form.js';
import { linesOf } from './head.js';
import type { Input } from './input.js';
import { Representation } from './representation.js';

/** A request that data routes answer alike: the same shape has the same body within a snapshot. */
export interface DataRequest {
  readonly shape: string;
  readonly route: DataRoute;
  readonly input: Input;
  readonly form: Form;
}

const headOf = remember((version) => linesOf({ 'Cache-Control': 'private, no-cache', 'Snapshot-Version': version }));

/**
 * Rejects with what the handler throws.
 * @param pauses of a list between its batches; by default in turns with others who do the like
 */
export const representData = async (
  { route, input, form }: DataRequest,
  snapshot: SnapshotReader,
  pauses?: Pauses,
): Promise<Representation> => {
  const answer = await route.handler(input as never, { snapshot });
  const options = {
    lastModified: snapshot.publishedAt,
    head: headOf(snapshot.version),
  };
  const batches = isStreamed(answer) ? answer.data : pauses && batchesOf(answer);
  if (!batches) return new Representation(Buffer.from(form.write(answer)), form.mediaType, options);
  const { body, sha256 } = await writeList(form, batches, pauses ?? longWork.join());
  return new Representation(body, form.mediaType, { ...options, sha256 });
};

const isStreamed = (answer: unknown): answer is StreamedList => {
  const data = (answer as Partial<StreamedList> | null)?.data;
  return typeof data?.[Symbol.asyncIterator] === 'function';
};

/** Rows that are written at once where nobody waits for them: a tenth of a millisecond of work. */
const BATCH = 100;

function* inBatches(rows: readonly object[]): Generator<readonly object[]> {
  for (let start = 0; start < rows.length; start += BATCH) yield rows.slice(start, start + BATCH);
}

/** A list that has come as a whole, in parts; undefined where it is short, or is no list. */
const batchesOf = (answer: unknown): Iterable<readonly object[]> | undefined => {
  const { data, ...others } = (answer ?? {}) as { readonly data?: unknown };
  const isLongList = Array.isArray(data) && data.length > BATCH && Object.keys(others).length === 0;
  return isLongList ? inBatches(data) : undefined;
};

/** Writes and hashes each batch as it is read. */
const writeList = async (
  { list }: Form,
  batches: AsyncIterable<readonly object[]> | Iterable<readonly object[]>,
  pauses: Pauses,
): Promise<{ body: Buffer; sha256: string }> => {
  const pieces: Buffer[] = [];
  const hash = createHash('sha256');
  const write = (text: string): void => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
  };
  write(list.before);
  await pauses.pause();
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    write((pieces.length > 1 ? list.between : '') + list.rows(batch));
    await pauses.pause();
  }
  write(list.after);
  return { body: await together(pieces, pauses), sha256: hash.digest('base64url') };
};

/** `Buffer.concat`, which of many megabytes takes milliseconds: most of them for memory that the system has yet to clear. */
const together = async (pieces: readonly Buffer[], pauses: Pauses): Promise<Buffer> => {
  const body = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    at += piece.copy(body, at);
    await pauses.pause();
  }
  return body;
};
