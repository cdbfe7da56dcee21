/** The head of an HTTP answer, gathered from the chunks that it comes in. */

export interface AnswerHead {
  /** From the status line on, without the empty line at its end. */
  readonly text: string;
  /** What Content-Length says; undefined where there is none. */
  readonly length: number | undefined;
  /** Bytes of the body that came with the head. */
  readonly begun: number;
}

export class AnswerHeadReader {
  #text = '';

  /** @returns undefined while more of the head is to come */
  read(chunk: Buffer): AnswerHead | undefined {
    // A head is ASCII: a character of latin1 is a byte, and so positions are those of bytes. What follows it may be long.
    const ended = this.#text === '' ? chunk.indexOf('\r\n\r\n') : -1;
    const text = chunk.toString('latin1', 0, ended === -1 ? chunk.length : ended + 4);
    this.#text += text;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const head = this.#text.slice(0, end);
    const begun = this.#text.length - end - 4 + (chunk.length - text.length);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#text = '';
    return { text: head, length: length === undefined ? undefined : Number(length), begun };
  }
}
