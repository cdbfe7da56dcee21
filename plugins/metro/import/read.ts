/** The content of a file determines its format, not the file name. */
import { files } from 'metro-forecast-api/adapter';
import { OperatorError } from 'metro-forecast-api/plugin';
import { readRows } from './csv.js';
import { type MetroIndex, readFhfaMetro } from './fhfa.js';
import { type MacroSeries, readFred } from './fred.js';
import type { ImportErrors } from './import-errors.js';
import type { Input } from './input.js';
import { EXPECTED, type FileKind, peek, recognize } from './recognize.js';

export interface Imported {
  /** Areas in FHFA's file, sorted by code. Undefined if there is no such file. */
  readonly index: readonly MetroIndex[] | undefined;
  readonly macro: readonly MacroSeries[];
  readonly ignored: readonly string[];
}

/** Reports progress in bytes. `total` is undefined if the size is not known in advance. */
export type OnRead = (progress: { input: string; done: number; total: number | undefined }) => void;

const describe = (kind: FileKind | undefined, head: string): string =>
  kind === 'fhfa-purchase-only'
    ? "is FHFA's purchase-only index, which covers only the 100 largest areas"
    : `has an unknown format; it starts with ${JSON.stringify(head.split(/\r?\n/, 1)[0]?.slice(0, 60))}`;

async function* counted(bytes: AsyncIterable<Uint8Array>, onRead: (done: number) => void): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of bytes) {
    done += chunk.length;
    onRead(done);
    yield chunk;
  }
}

/**
 * Reads every input. In a directory, files with an unknown format are skipped.
 * @param errors receives bad rows, files with an unknown format, and files that repeat data from another file
 * @throws OperatorError if an input cannot be read
 */
export const readInputs = async (
  inputs: readonly Input[],
  errors: ImportErrors,
  onRead?: OnRead,
): Promise<Imported> => {
  let index: MetroIndex[] | undefined;
  const macro = new Map<string, MacroSeries>();
  const ignored: string[] = [];
  const holders = new Map<string, string>();

  const claim = (what: string, name: string): boolean => {
    const holder = holders.get(what);
    if (holder === undefined) holders.set(what, name);
    else errors.addFile(name, `contains ${what}, and so does ${holder}; import one of them`);
    return holder === undefined;
  };

  const readOne = async ({ name, found, open }: Input): Promise<void> => {
    const { bytes, size } = await open();
    const peeked = await peek(counted(bytes, (done) => onRead?.({ input: name, done, total: size })));
    const kind = recognize(peeked.head);
    if (kind === 'fhfa-metro') {
      const areas = await readFhfaMetro(readRows(peeked.bytes, name, errors), name, errors);
      if (areas.length === 0) errors.addFile(name, 'has no usable rows');
      if (claim("FHFA's index", name)) index = areas;
    } else if (kind === 'fred') {
      for (const series of await readFred(readRows(peeked.bytes, name, errors), name, errors)) {
        if (claim(`the series ${series.id}`, name)) macro.set(series.id, series);
      }
    } else {
      await peeked.close();
      const what = describe(kind, peeked.head);
      if (found) ignored.push(`${name}: ${what}`);
      else errors.addFile(name, `${what}. Expected ${EXPECTED}`);
    }
  };

  for (const input of inputs) {
    try {
      await readOne(input);
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      throw new OperatorError(`Cannot read ${input.name}: ${files.fileErrorReason(error)}`, [], { cause: error });
    }
  }
  if (ignored.length === inputs.length)
    throw new OperatorError(`Found nothing to import. Expected ${EXPECTED}.`, ignored);
  return { index, macro: [...macro.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), ignored };
};
