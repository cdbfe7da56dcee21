import type { DependencyContainer } from 'tsyringe';
import type { Modules } from '../../core/app/load-modules.js';
import type { LoadedConfig } from '../../core/config/load.js';
import { OperatorError } from '../../core/errors.js';

/** A check is `skipped` if it depends on a failed check. */
type State = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly check: string;
  readonly state: State;
  readonly message: string;
  readonly advice?: readonly string[];
}

export interface CheckContext {
  readonly loaded: LoadedConfig;
  readonly modules: Modules;
  readonly container: DependencyContainer;
  command(...words: readonly string[]): string;
}

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

export const failure = (check: string, error: unknown, advice: readonly string[] = []): Finding => {
  if (error instanceof OperatorError) return failed(check, error.heading, ...error.errors, ...advice);
  return failed(check, error instanceof Error ? error.message : String(error), ...advice);
};
