import type {
  Finding,
  FrontPageContent,
  FrontPageContext,
  FrontPageFigure,
  FrontPageItem,
} from 'metro-forecast-api/plugin';
import { drawBars, rounded } from './bar-drawing.js';
import { listsIn } from './paths.js';

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
type Json = any;
type Row = Readonly<Record<string, unknown>>;

type Column = readonly [name: string, schema: Json];

interface Table {
  readonly path: string;
  readonly title: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  readonly rows: readonly Row[];
  /** Number of rows, or undefined if the store cannot count them. */
  readonly total: number | undefined;
  /** The column of the chart over time. */
  readonly time: Column | undefined;
  readonly newest: string | undefined;
}

/** Maximum number of rows that the front page reads from each table, once per snapshot. */
const MOST_ROWS = 10_000;
const MOST_TABLES = 12;
const MOST_COLUMNS_NAMED = 8;

const count = (value: number): string => value.toLocaleString('en-US');

const words = (name: string): string => {
  const spaced = name.replaceAll(/[_-]/g, ' ');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
};

const isYearText = (day: string): boolean => /^\d{4}$/.test(day);

const dateText = (day: string): string =>
  isYearText(day) ? day : new Date(day).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

const titleOf = ([name, schema]: Column): string => schema.title ?? words(name);

/** Changes the first letter to lower case. Acronyms such as `GDP` keep their capitals. */
const inSentence = (label: string): string => label.replace(/^\p{Lu}(?!\p{Lu})/u, (first) => first.toLowerCase());

const typesOf = ([, schema]: Column): readonly string[] => [schema.type].flat();
const isDate = (column: Column): boolean =>
  typesOf(column).includes('string') && /^date/.test(String(column[1].format ?? ''));
const isYear = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 1000 && Number(value) < 3000;
const hasYears = ([name]: Column, rows: readonly Row[]): boolean => {
  const known = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
  return known.length > 0 && known.every(isYear);
};
/** Returns the first column of dates or, if there is none, the first column whose values all look like years. */
const timeColumn = (columns: readonly Column[], rows: readonly Row[]): Column | undefined =>
  columns.find(isDate) ?? columns.find((column) => hasYears(column, rows));

/** Returns a day such as `2024-05-31`, or a year such as `1940`. */
const dayOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.slice(0, 10) : isYear(value) ? String(value) : undefined;

const isNumber = (column: Column): boolean => ['number', 'integer'].some((type) => typesOf(column).includes(type));

const tablesOf = async ({ get, list }: FrontPageContext): Promise<Table[]> => {
  const document: Json = await get('/openapi.json');
  const lists = listsIn(document.paths).slice(0, MOST_TABLES);
  const tables = lists.map(async (path) => {
    const { items } = document.paths[path].get.responses[200].content['application/json'].schema.properties.data;
    const row = items.$ref ? document.components.schemas[items.$ref.split('/').at(-1)] : items;
    const columns = Object.entries<Json>(row.properties);
    const read = await list<Row>(`${path}?count=true`, MOST_ROWS).catch(() => list<Row>(path, MOST_ROWS));
    if (!read) return undefined;
    const time = timeColumn(columns, read.rows);
    const newest = time && (await newestDate({ path, time: time[0], ...read }, list));
    return { path, title: words(path.slice(1)), columns, key: row.required, ...read, time, newest };
  });
  return (await Promise.all(tables)).filter((table) => table !== undefined);
};

/** Returns undefined if the column is empty, or if the table is too large to find the latest date. */
const newestDate = async (
  { path, time, rows, total }: Pick<Table, 'path' | 'rows' | 'total'> & { readonly time: string },
  list: FrontPageContext['list'],
): Promise<string | undefined> => {
  const newestFirst = () => list<Row>(`${path}?sort=-${encodeURIComponent(time)}`, 1).catch(() => undefined);
  const dated = total === rows.length ? rows : ((await newestFirst())?.rows ?? []);
  const days = dated.flatMap((row) => dayOf(row[time]) ?? []);
  return days.length === 0 ? undefined : days.reduce((latest, day) => (day > latest ? day : latest));
};

type Rows = Pick<Table, 'rows' | 'total'>;

const sizeOf = ({ rows, total }: Rows): number => total ?? rows.length;

const sizeText = (of: Rows, moreThan: string): string =>
  `${of.total === undefined ? moreThan : ''}${count(sizeOf(of))}`;

const columnsText = (columns: readonly unknown[]): string =>
  `${count(columns.length)} ${columns.length === 1 ? 'column' : 'columns'}`;

const rowsText = (of: Rows): string => `${sizeText(of, 'More than ')} ${sizeOf(of) === 1 ? 'row' : 'rows'}`;

const itemOf = (table: Table): FrontPageItem => ({
  title: table.title,
  text: `${rowsText(table)}, ${columnsText(table.columns)}${table.newest ? `. Latest: ${dateText(table.newest)}` : ''}`,
  href: `/tables#${table.path}`,
});

const list = (words: readonly string[]): string => new Intl.ListFormat('en').format(words);

const contentText = ([first, second]: readonly Table[]): string => {
  const rows = inSentence(rowsText(first!));
  if (second) {
    return sizeOf(first!) === sizeOf(second)
      ? `The largest have ${rows}.`
      : `The largest is ${inSentence(first!.title)}, with ${rows}.`;
  }
  const columns = first!.columns.map((column) => inSentence(titleOf(column)));
  const more = columns.length - MOST_COLUMNS_NAMED;
  const names = list([...columns.slice(0, MOST_COLUMNS_NAMED), ...(more > 0 ? [`${more} more`] : [])]);
  return `The ${columns.length === 1 ? 'only column is' : 'columns are'} ${names}.`;
};

const timeTitle = ({ time }: Table): string => `“${titleOf(time!)}”`;

const latestFinding = (table: Table, isOnly: boolean): Finding => {
  const where = `${timeTitle(table)}${isOnly ? '' : ` of ${inSentence(table.title)}`}`;
  return {
    figure: table.newest!,
    sentence: `The latest ${isYearText(table.newest!) ? 'year' : 'date'} in the column ${where} is ${dateText(table.newest!)}.`,
  };
};

const summaryOf = (tables: readonly Table[], bars: Bars | undefined): Finding[] => {
  const rows = tables.flatMap((table) => table.rows);
  const total = tables.every((table) => table.total !== undefined)
    ? tables.reduce((sum, table) => sum + table.total!, 0)
    : undefined;
  const dated = tables.filter(({ newest }) => newest !== undefined);
  const [latest] = dated.toSorted((a, b) => (a.newest! < b.newest! ? 1 : -1));
  const size = { rows, total };
  const where = tables.length === 1 ? 'one table' : `${tables.length} tables`;
  return [
    {
      figure: sizeText(size, '> '),
      sentence: `${rowsText(size)} in ${where}. ${contentText(tables)}`,
      href: '/tables',
    },
    ...(latest ? [latestFinding(latest, tables.length === 1)] : []),
    ...(bars ? peakFinding(bars) : []),
  ];
};

/** Length of the prefix that all dates in a period share: 7 characters for a month, 4 for a year. */
const PERIODS = [
  [10, 'day'],
  [7, 'month'],
  [4, 'year'],
] as const;
const MOST_BARS = 80;

interface Bars {
  readonly table: Table;
  readonly name: string;
  readonly title: string;
  readonly time: string;
  /** The bars show the mean of this column. If it is undefined, they show the number of rows. */
  readonly measure: string | undefined;
  readonly most: string;
  /** The period with the highest value, even if it has no bar. Undefined if all values are equal. */
  readonly peak: readonly [period: string, value: number] | undefined;
  readonly values: readonly (readonly [period: string, value: number])[];
}

const periodOf = (days: readonly string[]) =>
  days.every(isYearText)
    ? PERIODS[2]
    : (PERIODS.find(([length]) => new Set(days.map((day) => day.slice(0, length))).size <= MOST_BARS) ?? PERIODS[2]);

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Counts the rows in each period. If the date is in the key of the table, most periods have the same number of rows.
 * The bars then show the mean of the first numeric column outside the key.
 */
const barsOf = (table: Table): Bars | undefined => {
  const { columns, rows, title, total, key, time } = table;
  if (!time || total !== rows.length) return undefined;
  const isKey = ([name]: Column) => key.includes(name);
  const measure = isKey(time) ? columns.find((column) => isNumber(column) && !isKey(column)) : undefined;
  const days = rows.flatMap((row) => dayOf(row[time[0]]) ?? []);
  const [length, period] = periodOf(days);
  const groups = new Map<string, number[]>();
  for (const row of rows) {
    const day = dayOf(row[time[0]]);
    const value = measure ? row[measure[0]] : 1;
    if (day === undefined || typeof value !== 'number') continue;
    const name = day.slice(0, length);
    if (groups.has(name)) groups.get(name)!.push(value);
    else groups.set(name, [value]);
  }
  const all = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, numbers]): [string, number] => [name, measure ? mean(numbers) : numbers.length]);
  if (all.length < 3) return undefined;
  const highest = all.reduce((most, each) => (each[1] > most[1] ? each : most));
  const peak = all.every(([, value]) => value === highest[1]) ? undefined : highest;
  const bars = { table, peak, values: all.slice(-MOST_BARS), time: time[0], measure: measure?.[0] };
  if (!measure) {
    const name = `${title} per ${period}`;
    return { ...bars, name: inSentence(name), title: name, most: 'Most' };
  }
  const name = `mean ${inSentence(titleOf(measure))} per ${period}`;
  return { ...bars, name, title: `${title}: ${name}`, most: 'Highest' };
};

const peakFinding = ({ name, most, peak }: Bars): Finding[] => {
  if (!peak) return [];
  const [period, value] = peak;
  const figure = rounded(value, 2);
  return [{ figure, sentence: `${most} ${name}: ${figure} (${period}).` }];
};

const figureOf = (bars: Bars): FrontPageFigure => {
  const { table, title, values, time, measure = 'rows' } = bars;
  const [first, last] = [values[0]![0], values.at(-1)![0]];
  return {
    title,
    description: `Bar chart of ${values.length} periods, from ${first} to ${last}. The table lists the values.`,
    drawing: drawBars(values),
    note: `${rowsText(table)} by ${timeTitle(table)}, from ${first} to ${last}.`,
    href: `/tables#${table.path}?${new URLSearchParams({ tab: 'time', form: 'bars', time, value: measure })}`,
  };
};

export const tablesFrontPage = async (context: FrontPageContext): Promise<FrontPageContent> => {
  const tables = (await tablesOf(context)).toSorted((a, b) => sizeOf(b) - sizeOf(a));
  if (tables.length === 0) return {};
  let bars: Bars | undefined;
  for (const table of tables) {
    bars = barsOf(table);
    if (bars) break;
  }
  return {
    findings: summaryOf(tables, bars),
    ...(bars && { figure: figureOf(bars) }),
    items: tables.map(itemOf),
    search: { path: '/tables', label: `Search ${inSentence(tables[0]!.title)}`, placeholder: 'Any word in a row' },
  };
};
