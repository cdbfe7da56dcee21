import type { WriteStream } from 'node:tty';
import type { SingleBar } from 'cli-progress';
import { counted } from '../core/util/counted.js';
import { loadPackage } from '../core/util/package.js';
import { printableLine } from '../core/util/printable.js';

type Unit = 'rows' | 'bytes' | 'files';

interface Progress {
  /** Shows the progress of a task. A new task name means that the previous task is finished. */
  update(task: string, done: number, total?: number, unit?: Unit): void;
  finish(): void;
}

const LINE_EVERY_MS = 5_000;

const megabytes = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const amount = (done: number, unit: Unit): string =>
  unit === 'bytes' && done >= 1e5 ? `${megabytes.format(done / 1e6)} MB` : counted(done, unit.slice(0, -1));

const plainLines = (stream: NodeJS.WritableStream, now: () => number): Progress => {
  let current: { task: string; line: string; said: number } | undefined;
  const finish = () => {
    if (current !== undefined) stream.write(`${current.task}: ${current.line}\n`);
    current = undefined;
  };
  return {
    finish,
    update(task, done, total, unit = 'rows') {
      if (current?.task !== task) finish();
      current ??= { task, line: '', said: now() };
      current.line = amount(done, unit);
      if (now() - current.said < LINE_EVERY_MS) return;
      const of = total === undefined ? '' : ` of ${amount(total, unit)}`;
      stream.write(`${task}: ${current.line}${of} ...\n`);
      current.said = now();
    },
  };
};

const bar = (stream: WriteStream): Progress => {
  const { SingleBar: Bar } = loadPackage('cli-progress') as typeof import('cli-progress');
  let current: { task: string; bar: SingleBar } | undefined;
  const finish = () => {
    current?.bar.stop();
    current = undefined;
  };
  return {
    finish,
    update(task, done, total, unit = 'rows') {
      if (current?.task !== task) finish();
      if (current === undefined) {
        const format = total === undefined ? '{task}: {amount}' : '{task} {bar} {percentage}% {amount}';
        // The cursor stays visible, because Ctrl-C ends the command before the bar could show it again.
        current = { task, bar: new Bar({ format, stream, barsize: 24, fps: 10 }) };
        current.bar.start(total ?? 0, done, { task, amount: amount(done, unit) });
      }
      current.bar.update(done, { amount: amount(done, unit) });
    },
  };
};

export const withProgress = async <T>(task: (progress: Progress) => Promise<T>): Promise<T> => {
  const progress = createProgress();
  try {
    return await task(progress);
  } finally {
    progress.finish();
  }
};

export const createProgress = (
  stream: NodeJS.WritableStream = process.stderr,
  now: () => number = () => performance.now(),
): Progress => {
  const { update, finish } = (stream as WriteStream).isTTY ? bar(stream as WriteStream) : plainLines(stream, now);
  return { finish, update: (task, ...rest) => update(printableLine(task), ...rest) };
};
