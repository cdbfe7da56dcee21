import { isAscii, isUtf8 } from 'node:buffer';

export class EncodingError extends Error {
  /** @param mayBeOther true if the text might have a different encoding, because all text before the error is ASCII */
  constructor(
    message: string,
    readonly mayBeOther = false,
  ) {
    super(message);
  }
}

/** The first 4,096 bytes are enough to distinguish UTF-8 from UTF-16. */
const HEAD_BYTES = 4096;

/** Guesses the encoding from the first bytes. Only reading the whole file can confirm that its encoding is UTF-8. */
export const encodingOf = (head: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' => {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  // In UTF-16, every ASCII character contains a zero byte.
  const zeros = [0, 0];
  for (let i = 0; i < Math.min(head.length, HEAD_BYTES); i++) if (head[i] === 0) zeros[i % 2]!++;
  const [even, odd] = zeros as [number, number];
  const most = Math.max(even, odd);
  if (most < Math.min(head.length, HEAD_BYTES) / 8 || Math.min(even, odd) > most / 4) return 'utf-8';
  return odd > even ? 'utf-16le' : 'utf-16be';
};

const incompleteAtEnd = (bytes: Buffer): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
};

const LINE_FEED = 0x0a;

/** Matches a non-ASCII character that was decoded correctly. Invalid bytes become U+FFFD. */
const VALID = /[^\p{ASCII}\ufffd]/u;

async function* utf8Text(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  let hasOtherThanAscii = false;
  const decode = (part: Buffer): string => {
    if (isAscii(part)) return part.toString('latin1');
    if (!isUtf8(part)) {
      hasOtherThanAscii ||= VALID.test(part.toString('utf8'));
      throw new EncodingError(
        hasOtherThanAscii
          ? 'it is not entirely UTF-8: set its encoding with --encoding, for example windows-1252'
          : 'it is not in UTF-8',
        !hasOtherThanAscii,
      );
    }
    hasOtherThanAscii = true;
    return part.toString('utf8');
  };
  for await (const chunk of bytes) {
    const all =
      rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([rest, chunk]);
    // Each part ends at the end of a line. Otherwise, some lines would be concatenations of two strings, and reading the
    // characters of a concatenated string is slow.
    const whole = all.lastIndexOf(LINE_FEED) + 1 || all.length - incompleteAtEnd(all);
    // The rest is copied, because the stream can reuse the buffer of the chunk.
    rest = Buffer.from(all.subarray(whole));
    if (whole > 0) yield decode(all.subarray(0, whole));
  }
  const incomplete = incompleteAtEnd(rest);
  if (rest.length > incomplete) yield decode(rest.subarray(0, rest.length - incomplete));
  if (incomplete > 0) throw new EncodingError('it ends within a UTF-8 character: it was cut short');
}

/** The bytes that Windows-1252 does not define. The decoder turns them into control characters. */
const UNDEFINED = /[\u0081\u008d\u008f\u0090\u009d]/;

async function* otherText(bytes: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<string> {
  // Node 20 decodes Windows-1252 as ISO 8859-1 unless both `fatal` and `stream` are set.
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch {
      throw new EncodingError(`it is not in ${encoding}: set its encoding with --encoding, for example windows-1252`);
    }
  };
  for await (const chunk of bytes) yield decode(chunk);
  yield decode();
}

/** Yields the text without a byte order mark. @throws EncodingError, and any error from reading `bytes` */
export async function* textOf(bytes: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<string> {
  let isFirst = true;
  for await (const text of encoding === 'utf-8' ? utf8Text(bytes) : otherText(bytes, encoding)) {
    if (encoding === 'windows-1252' && UNDEFINED.test(text)) {
      throw new EncodingError('it is neither UTF-8 nor Windows-1252: set its encoding with --encoding');
    }
    yield isFirst && text.startsWith('\ufeff') ? text.slice(1) : text;
    isFirst = false;
  }
}

export const headText = (head: Buffer, encoding: string): string => {
  const text = encoding === 'utf-8' ? head.toString('utf8') : new TextDecoder(encoding).decode(head, { stream: true });
  return text.startsWith('\ufeff') ? text.slice(1) : text;
};
