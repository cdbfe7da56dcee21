import { createReadStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { firstLines, OperatorError } from '../../errors.js';
import { openRegular } from '../../util/read-file.js';

export const COMPRESSIONS = ['none', 'gzip', 'zip'] as const;
export type Compression = (typeof COMPRESSIONS)[number];

export interface SourceOptions {
  readonly compression?: Compression | undefined;
  readonly member?: string | undefined;
}

export interface Source {
  readonly path: string;
  readonly compression: Compression;
  readonly head: Buffer;
  readonly isWholeHead: boolean;
  readonly isWorkbook: boolean;
  /** Reads the content of the file. A chunk is valid only until the next chunk is requested. */
  open(): AsyncIterable<Buffer>;
}

/** The format, the encoding and the separator are detected from this many bytes at the start of a file. */
const HEAD_BYTES = 1024 * 1024;
/**
 * The size of the chunks in which a file is read. Small chunks keep only a few rows in memory at a time, which halves
 * the cost of garbage collection.
 */
const CHUNK_BYTES = 64 * 1024;

/** The first bytes, in hexadecimal, of formats that cannot be imported. */
const REJECTED: readonly (readonly [start: string, problem: string])[] = [
  ['d0cf11e0', 'it is an old Excel workbook; save it as .xlsx or CSV'],
  ['425a68', 'it is compressed with bzip2; unpack it'],
  ['fd377a58', 'it is compressed with xz; unpack it'],
  ['28b52ffd', 'it is compressed with zstd; unpack it'],
  ['377abcaf', 'it is a 7z archive; unpack it'],
  ['25504446', 'it is a PDF document, not a table'],
  ['76657273696f6e2068747470733a2f2f', 'it is a Git LFS pointer; run "git lfs pull" to get the table'],
  ['53514c69746520666f726d6174', 'it is an SQLite database; export a table as CSV'],
];

export const isParquet = (head: Buffer): boolean => head.subarray(0, 4).toString('latin1') === 'PAR1';
const hex = (head: Buffer): string => head.subarray(0, 16).toString('hex');

const compressionOf = (head: Buffer): Compression => {
  if (hex(head).startsWith('1f8b')) return 'gzip';
  return hex(head).startsWith('504b0304') ? 'zip' : 'none';
};

const assertReadable = (head: Buffer): void => {
  const [, problem] = REJECTED.find(([start]) => hex(head).startsWith(start)) ?? [];
  if (problem !== undefined) throw new OperatorError(problem);
  if (/^\s*<(!doctype|html|\?xml)/i.test(head.subarray(0, 200).toString('latin1'))) {
    throw new OperatorError('it is a web page or an XML file, not a table');
  }
};

const headOf = async (bytes: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    chunks.push(Buffer.from(chunk));
    length += chunk.length;
    if (length >= HEAD_BYTES) break;
  }
  return Buffer.concat(chunks);
};

/** Errors of yauzl have no code. */
const isDecodingError = (error: unknown): boolean =>
  /^$|^Z_|^ERR_.*ZLIB/.test((error as NodeJS.ErrnoException).code ?? '');

const damaged = (cause?: unknown): OperatorError =>
  new OperatorError('its compressed data is damaged or cut short; download or copy it again', [], { cause });

async function* contentOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    yield* stream;
  } catch (cause) {
    throw isDecodingError(cause) ? damaged(cause) : cause;
  } finally {
    stream.destroy();
  }
}

async function* fileContent(path: string): AsyncGenerator<Buffer> {
  const file: FileHandle = await openRegular(path);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

const gunzipped = (path: string): AsyncGenerator<Buffer> => {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), gunzip, () => undefined);
  return contentOf(gunzip);
};

interface Archive {
  readonly zip: ZipFile;
  readonly files: readonly Entry[];
}

const openArchive = async (path: string): Promise<Archive> => {
  const { open } = await import('yauzl');
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void =>
      reject(new OperatorError(`it is not a complete zip archive: ${cause.message.replace(/\.$/, '')}`, [], { cause }));
    open(path, { autoClose: false, lazyEntries: false }, (error, zip) => {
      if (error) return fail(error);
      const files: Entry[] = [];
      const isFile = (name: string): boolean => !name.endsWith('/') && !/^__MACOSX\/|(^|\/)\./.test(name);
      zip.on('entry', (entry: Entry) => isFile(entry.fileName) && files.push(entry));
      zip.on('end', () => resolve({ zip, files }));
      zip.on('error', fail);
    });
  });
};

async function* memberOf({ zip, files }: Archive, name: string): AsyncGenerator<Buffer> {
  const entry = files.find(({ fileName }) => fileName === name)!;
  const stream = await new Promise<Readable>((resolve, reject) => {
    zip.openReadStream(entry, (error, found) =>
      error ? reject(isDecodingError(error) ? damaged(error) : error) : resolve(found),
    );
  });
  let sum = 0;
  for await (const chunk of contentOf(stream)) {
    sum = crc32(chunk, sum);
    yield chunk;
  }
  // yauzl checks the size of a file in the archive, but not its checksum.
  if (sum !== entry.crc32) throw damaged();
}

const METHODS: Readonly<Record<number, string>> = { 9: 'Deflate64', 12: 'bzip2', 14: 'LZMA', 93: 'zstd', 95: 'xz' };

const assertUnpackable = (entry: Entry): void => {
  const name = JSON.stringify(entry.fileName);
  if (entry.isEncrypted()) throw new OperatorError(`${name} in the zip archive is encrypted; unpack it`);
  if (entry.canDecodeFileData()) return;
  const method = METHODS[entry.compressionMethod] ?? `the method ${entry.compressionMethod}`;
  throw new OperatorError(`${name} in the zip archive is compressed with ${method}; unpack it`);
};

const WORKBOOK = 'xl/workbook.xml';

const MAX_LISTED = 20;

const openZip = async (path: string, given?: string): Promise<Pick<Source, 'isWorkbook' | 'open'>> => {
  const { zip, files } = await openArchive(path);
  zip.close();
  const names = files.map(({ fileName }) => fileName);
  const isWorkbook = given === undefined && names.includes(WORKBOOK);
  const member = given ?? names[0];
  if (member === undefined) throw new OperatorError('it is a zip archive without files');
  if (!names.includes(member)) {
    throw new OperatorError(`the zip archive has no file "${member}"; its files are:`, firstLines(names, MAX_LISTED));
  }
  if (!isWorkbook && given === undefined && names.length > 1) {
    const message = `the zip archive has ${names.length} files; choose one with --member:`;
    throw new OperatorError(message, firstLines(names, MAX_LISTED));
  }
  for (const entry of files) if (isWorkbook || entry.fileName === member) assertUnpackable(entry);
  return {
    isWorkbook,
    async *open() {
      const archive = await openArchive(path);
      try {
        yield* memberOf(archive, member);
      } finally {
        archive.zip.close();
      }
    },
  };
};

/** @throws OperatorError if the content is not a table, and errors from `node:fs` */
export const openSource = async (path: string, options: SourceOptions = {}): Promise<Source> => {
  const raw = await headOf(fileContent(path));
  const compression = options.compression ?? compressionOf(raw);
  const { isWorkbook, open } =
    compression === 'zip'
      ? await openZip(path, options.member)
      : { isWorkbook: false, open: () => (compression === 'gzip' ? gunzipped(path) : fileContent(path)) };
  const head = isWorkbook ? Buffer.alloc(0) : compression === 'none' ? raw : await headOf(open());
  assertReadable(head);
  return { path, compression, head, isWholeHead: head.length < HEAD_BYTES, isWorkbook, open };
};
