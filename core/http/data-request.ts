/** One question to a data route, and its answer from a snapshot. */
import type { DataRoute, SnapshotReader } from '../contracts/plugin.js';
import type { Form } from './form.js';
import type { Input } from './input.js';
import { Representation } from './representation.js';

/** A request that data routes answer alike: the same shape has the same body within a snapshot. */
export interface DataRequest {
  readonly shape: string;
  readonly route: DataRoute;
  readonly input: Input;
  readonly form: Form;
}

const HEADERS = ['Cache-Control', 'private, no-cache'];

/** Rejects with what the handler throws. */
export const representData = async (
  { route, input, form }: DataRequest,
  snapshot: SnapshotReader,
): Promise<Representation> =>
  new Representation(Buffer.from(form.write(await route.handler(input as never, { snapshot }))), form.mediaType, {
    lastModified: snapshot.publishedAt,
    headers: [...HEADERS, 'Snapshot-Version', snapshot.version],
  });
