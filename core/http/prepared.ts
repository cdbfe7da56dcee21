/** Bodies that are ready to be sent: bytes, and the header lines that describe them. */
import { isAscii } from 'node:buffer';

/** Bytes, or ASCII text. */
export type Payload = Buffer | string;

/**
 * A body of this size at most is written as one text with the header lines, in one system call and one copy; a longer one
 * goes beside them. Texts that are kept must be ASCII: one byte a character, whatever the encoding.
 */
export const WRITTEN_AS_TEXT_BYTES = 8 * 1024;

export const payloadOf = (body: Buffer): Payload =>
  body.length <= WRITTEN_AS_TEXT_BYTES && isAscii(body) ? body.toString('latin1') : body;

/** A status with a body and its header lines, checked and put together before anybody asks. */
export class Prepared {
  /**
   * @param head the lines that describe the body (see `head.ts`)
   * @param payload undefined where the status has no body
   */
  constructor(
    readonly status: number,
    readonly head: string,
    readonly payload?: Payload,
  ) {}
}
