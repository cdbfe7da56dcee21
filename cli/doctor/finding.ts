/** Defines the context and the results of the checks that `doctor` runs. */
import type { DependencyContainer } from 'tsyringe';
import type { Modules } from '../../core/app/load-modules.js';
import type { LoadedConfig } from '../../core/config/load.js';
import { OperatorError } from '../../core/errors.js';

/** The result of a check. `skipped` means that an earlier check, on which this one depends, has failed. */
type State = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly check: string;
  readonly state: State;
  readonly message: string;
  /** Advice for the operator, with one sentence per entry. */
  readonly advice?: readonly string[];
}

/** The context of a check. */
export interface CheckContext {
  readonly loaded: LoadedConfig;
  readonly modules: Modules;
  readonly container: DependencyContainer;
  /** Formats a command to suggest, which uses the same configuration. */
  command(...words: readonly string[]): string;
}

/** Called with the number of checked rows. */
export type OnRows = (rows: number) => void;

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message });

export const warning = (check: string, message: string, ...advice: readonly string[]): Finding => ({
  check,
  state: 'warning',
  message,
  advice,
});

export const failed = (check: string, message: string, ...advice: readonly string[]): Finding => ({
  check,
  state: 'failed',
  message,
  advice,
});

/** Returns the finding for an error that a check has thrown. */
export const failure = (check: string, error: unknown, advice: readonly string[] = []): Finding => {
  if (error instanceof OperatorError) return failed(check, error.heading, ...error.errors, ...advice);
  return failed(check, error instanceof Error ? error.message : String(error), ...advice);
};
