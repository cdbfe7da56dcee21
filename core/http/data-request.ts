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
  if (!isStreamed(answer)) return new Representation(Buffer.from(form.write(answer)), form.mediaType, options);
  const { body, sha256 } = await writeList(form, answer.data, pauses ?? longWork.join());
  return new Representation(body, form.mediaType, { ...options, sha256 });
};

const isStreamed = (answer: unknown): answer is StreamedList => {
  const data = (answer as Partial<StreamedList> | null)?.data;
  return typeof data?.[Symbol.asyncIterator] === 'function';
};

/** Writes and hashes each batch as it is read. */
const writeList = async (
  { list }: Form,
  batches: StreamedList['data'],
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
  return { body: Buffer.concat(pieces), sha256: hash.digest('base64url') };
};
