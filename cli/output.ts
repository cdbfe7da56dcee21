/** What commands print: results go to standard output, all else to standard error. */
import { pino } from 'pino';
import type { Logger } from '../core/contracts/runtime.js';

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

export const toJson = (value: unknown): string => JSON.stringify(value, null, 2);

export const printJson = (value: unknown): void => print(toJson(value));

export const note = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

/**
 * The log of a command: warnings, as sentences on standard error. Failures are left out, since the command itself
 * ends with them.
 */
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

/** Numbers of rows and the like, for people. */
export const count = new Intl.NumberFormat('en-US');

/** Columns as wide as their widest cell. */
export const table = (rows: readonly (readonly string[])[]): string => {
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
