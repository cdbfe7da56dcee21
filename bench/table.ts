export type Cell = string | number | null;

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

export const formatCell = (cell: Cell): string => {
  if (cell === null) return '–';
  if (typeof cell === 'string') return cell;
  return (Math.abs(cell) >= 100 ? whole : precise).format(cell);
};

export const percent = (fraction: number): string => `${(fraction * 100).toFixed(1)}%`;

const formatRows = ({ columns, rows }: Table): string => {
  const cells = [columns, ...rows.map((row) => row.map(formatCell))];
  const formats = columns.map((_, column) => {
    const width = Math.max(3, ...cells.map((row) => row[column]?.length ?? 0));
    const isText = column === 0 || rows.every((row) => typeof row[column] === 'string' && !/^[\d-]/.test(row[column]));
    return isText
      ? { rule: '-'.repeat(width), pad: (cell: string) => cell.padEnd(width) }
      : { rule: `${'-'.repeat(width - 1)}:`, pad: (cell: string) => cell.padStart(width) };
  });
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => formats[column]!.pad(cell)).join(' | ')} |`;
  const rule = `| ${formats.map((format) => format.rule).join(' | ')} |`;
  return [line(cells[0]!), rule, ...cells.slice(1).map(line)].join('\n');
};

export const formatTable = (table: Table): string => `### ${table.title}\n\n${formatRows(table)}`;
