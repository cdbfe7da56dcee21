import { BufferPool } from '../../core/data/buffer-pool.js';

export class ObservedPool extends BufferPool {
  /** The buffers that were lent, in order. */
  readonly lent: ArrayBuffer[] = [];

  override take(bytes: number, user: object): ArrayBuffer {
    const buffer = super.take(bytes, user);
    this.lent.push(buffer);
    return buffer;
  }
}
