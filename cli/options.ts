/** Options that many commands have. */
import { InvalidArgumentError } from 'commander';

/** What every command may be given. */
export interface CommonOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** The option `--json` of commands whose output needs no other word. */
export const jsonOption = ['--json', 'print JSON for machines'] as const;

export const parseCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
};
