import { type Command, InvalidArgumentError, Option } from 'commander';
import { NAME } from '../core/contracts/dataset.js';
import { COLUMN_TYPES, type ColumnType } from '../core/data/table/notations.js';
import { FORMATS, type Format } from '../core/data/table/rows.js';
import { COMPRESSIONS, type Compression } from '../core/data/table/source.js';
import { createdOption, isCount } from './options.js';

export interface TableCommandOptions {
  readonly collection?: string;
  readonly key?: readonly string[];
  readonly to: string;
  readonly sort: readonly string[];
  readonly search: readonly string[];
  readonly type: ReadonlyMap<string, ColumnType>;
  readonly name: ReadonlyMap<string, string>;
  readonly missing: readonly string[];
  readonly format?: Format;
  readonly compression?: Compression;
  readonly member?: string;
  readonly encoding?: string;
  readonly separator?: string;
  readonly quote?: string;
  readonly header?: number | 'none';
  readonly sheet?: string;
  readonly decimal?: 'point' | 'comma';
  readonly dateOrder?: 'dmy' | 'mdy';
  readonly skipBadRows?: boolean;
  readonly redeclare?: boolean;
  readonly created?: Date;
  readonly json?: boolean;
}

const list = (text: string): string[] => text.split(',').map((part) => part.trim());

const parseName = (text: string): string => {
  if (!NAME.test(text)) throw new InvalidArgumentError('It must be a name such as building_permits.');
  return text;
};

/** Splits `column=value` at the last equals sign, because a column heading can contain equals signs. */
const parsePair = (text: string): readonly [column: string, value: string] => {
  const at = text.lastIndexOf('=');
  return [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
};

const parseType = (text: string, before: ReadonlyMap<string, ColumnType>): ReadonlyMap<string, ColumnType> => {
  const [column, type] = parsePair(text);
  if (!column || !COLUMN_TYPES.includes(type as ColumnType)) {
    throw new InvalidArgumentError(`It must have the form id=text; the types are ${COLUMN_TYPES.join(', ')}.`);
  }
  return new Map([...before, [column, type as ColumnType]]);
};

const parseColumnName = (text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const [heading, name] = parsePair(text);
  if (!heading || !NAME.test(name)) throw new InvalidArgumentError('It must have the form "Size (cm)=size_cm".');
  return new Map([...before, [heading, name]]);
};

const parseSeparator = (text: string): string => {
  const separator = text === '\\t' || text === 'tab' ? '\t' : text;
  if (separator === '' || /["\r\n]/.test(separator))
    throw new InvalidArgumentError('It must be text such as ; or tab.');
  return separator;
};

const parseQuote = (text: string): string => {
  if (text !== 'none' && text.length !== 1) throw new InvalidArgumentError('It must be one character, or none.');
  return text;
};

const parseHeader = (text: string): number | 'none' => {
  if (text === 'none') return text;
  if (!isCount(text)) throw new InvalidArgumentError('It must be the number of a line, or none.');
  return Number(text);
};

const parseEncoding = (text: string): string => {
  try {
    return new TextDecoder(text).encoding;
  } catch {
    throw new InvalidArgumentError('It must be an encoding such as utf-8, utf-16le, windows-1252 or shift_jis.');
  }
};

export const withTableOptions = (command: Command): Command =>
  command
    .option(
      '--collection <name>',
      'name of the collection, such as permits (default: from the name of the file)',
      parseName,
    )
    .option(
      '--key <columns>',
      'columns that identify a row, separated by commas, or "row" for its number (default: detected from the data)',
      list,
    )
    .option('--to <path>', 'the dataset directory, or a database file such as data.db; created if missing', 'dataset')
    .addOption(
      new Option('--sort <columns>', 'columns to index for sorting, in addition to the key, separated by commas')
        .argParser(list)
        .default([], 'none'),
    )
    .addOption(
      new Option('--search <columns>', 'columns whose words SQLite and MongoDB index, separated by commas')
        .argParser(list)
        .default([], 'no index'),
    )
    .addOption(
      new Option('--type <column=type>', `the type of a column: ${COLUMN_TYPES.join(', ')}`)
        .argParser(parseType)
        .default(new Map(), 'detected from the values'),
    )
    .addOption(
      new Option('--name <heading=name>', 'the name of a column, such as "Size (cm)=size_cm"')
        .argParser(parseColumnName)
        .default(new Map(), 'derived from the heading'),
    )
    .addOption(
      new Option('--missing <text>', 'text that means a missing value in any column; can be repeated')
        .argParser((text, before: string[]) => [...before, text])
        .default([], 'none'),
    )
    .addOption(new Option('--decimal <sign>', 'the decimal separator').choices(['point', 'comma']))
    .addOption(
      new Option('--date-order <order>', 'the order of day and month in dates like 01/02/2025').choices(['dmy', 'mdy']),
    )
    .addOption(new Option('--format <format>', 'the format of the file').choices(FORMATS))
    .addOption(new Option('--compression <name>', 'the compression of the file').choices(COMPRESSIONS))
    .option('--member <file>', 'the file to import from a zip archive of several files')
    .option('--encoding <name>', 'the encoding of text, such as utf-16le, windows-1252 or shift_jis', parseEncoding)
    .option('--separator <text>', 'the separator of cells, such as ; or tab', parseSeparator)
    .option('--quote <character>', 'the quote around cells, or none', parseQuote)
    .option('--header <line>', 'the line that names the columns, or none', parseHeader)
    .option('--sheet <name>', 'the sheet of a workbook (default: the first with rows)')
    .option(
      '--skip-bad-rows',
      'leave out and report rows with too many cells, a wrong type, or an empty key or sort column',
    )
    .option(
      '--redeclare',
      'replace the declaration of the collection, instead of keeping its descriptions and settings',
    )
    .addOption(createdOption('the import'))
    .option('--json', 'print the report as JSON for machines');
