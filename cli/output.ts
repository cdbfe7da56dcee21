/** Writes the output of commands. Results go to standard output, everything else to standard error. */
import { pino } from 'pino';
import type { Logger } from '../core/contracts/runtime.js';
import { printable, printableLine } from '../core/util/printable.js';

/** Writes results. Commands must use `write` or `writeError`, because both make text safe to display. */
export const write = (text: string): void => {
  process.stdout.write(printable(text));
};

export const writeError = (text: string): void => {
  process.stderr.write(printable(text));
};

export const print = (text: string): void => write(`${text}\n`);

export const toJson = (value: unknown): string => JSON.stringify(value, null, 2);

export const printJson = (value: unknown): void => print(toJson(value));

export const note = (text: string): void => writeError(`${text}\n`);

export const commandLogger = (): Logger =>
  pino(
    { level: 'warn', base: null, timestamp: false },
    {
      write(line) {
        const { level: _, msg, err, part: _part, ...details } = JSON.parse(line) as Record<string, unknown>;
        if (err === undefined) note([msg, ...Object.values(details).map(String)].join(' '));
      },
    },
  );

export const count = new Intl.NumberFormat('en-US');

export const table = (cells: readonly (readonly string[])[]): string => {
  const rows = cells.map((row) => row.map(printableLine));
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
