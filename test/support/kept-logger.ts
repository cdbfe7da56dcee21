import type { Logger } from '../../core/contracts/runtime.js';

export interface KeptLogger extends Logger {
  readonly lines: string[];
}

export const keptLogger = (): KeptLogger => {
  const lines: string[] = [];
  const keep =
    (level: string) =>
    (...args: unknown[]): void => {
      lines.push(`${level}: ${args.filter((arg) => typeof arg === 'string').join(' ')}`);
    };
  const logger = {
    lines,
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
    fatal: keep('fatal'),
    child: () => logger,
  };
  return logger as unknown as KeptLogger;
};
