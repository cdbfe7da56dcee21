/** The log on standard error: one JSON object per line, or text for people. */
import { type Logger as PinoLogger, pino } from 'pino';
import type { Config } from '../config/schema.js';
import type { Logger } from '../contracts/runtime.js';
import { type LogOutput, logOutput } from '../observe/log-output.js';
import { loadPackage } from '../util/package.js';
import { printableData } from '../util/printable.js';

export const createLogger = ({ level, format }: Config['log']): Logger => {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const output = logOutput();
  const destination = isPretty ? prettyPrinter(output) : output;
  const children: PinoLogger[] = [];
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: isoTime,
      serializers: { err: describeError },
      onChild: (child) => void children.push(child),
    },
    destination,
  );
  const info = `{"level":${logger.levels.values['info']}`;
  const base = `,"pid":${process.pid},`;
  const infoJson = (members: string, message: string): void => {
    if (logger.isLevelEnabled('info')) destination.write(`${info}${isoTime()}${base}${members},"msg":"${message}"}\n`);
  };
  const setLevel = (to: string): void => {
    for (const each of [logger, ...children]) each.level = to;
  };
  output.onRecovery = (lines) => logger.warn({ lines }, 'log lines were dropped: standard error was full or not read');
  return Object.assign(logger, { infoJson, setLevel });
};

/** Describes errors like pino, without causes that the message already quotes. */
const describeError = (error: unknown): unknown =>
  error instanceof Error ? { ...pino.stdSerializers.err(error), message: messageOf(error) } : error;

const messageOf = ({ message, cause }: Error, depth = 0): string => {
  const reason = cause instanceof Error && depth < MAX_CAUSES ? messageOf(cause, depth + 1) : '';
  return message.includes(reason) ? message : `${message}: ${reason}`;
};

const MAX_CAUSES = 10;

const prettyPrinter = (output: LogOutput) => {
  const { prettyFactory, isColorSupported } = loadPackage('pino-pretty') as typeof import('pino-pretty');
  const format = prettyFactory({
    colorize: isColorSupported,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
  });
  return { write: (line: string) => output.write(format(printableData(JSON.parse(line))) ?? '') };
};

let millisecond = 0;
let formatted = '';

/** Many lines have the same time, which is formatted once. */
const isoTime = (): string => {
  const now = Date.now();
  if (now !== millisecond) {
    millisecond = now;
    formatted = `,"time":"${new Date(now).toISOString()}"`;
  }
  return formatted;
};
