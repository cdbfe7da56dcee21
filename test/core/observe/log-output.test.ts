import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { LogOutput } from '../../../core/observe/logger.js';

const LINES = 2000;
const line = (i: number): string => `${String(i).padStart(99, '0')}\n`;

describe('LogOutput', () => {
  let folder: string;
  let reader: number;
  let writer: number;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'log-output-'));
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  });

  afterEach(async () => {
    closeSync(writer);
    closeSync(reader);
    await rm(folder, { recursive: true });
  });

  const read = (): string => {
    const bytes = Buffer.alloc(1024 * 1024);
    let text = '';
    for (;;) {
      try {
        text += bytes.toString('utf8', 0, readSync(reader, bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return text;
        throw error;
      }
    }
  };

  const readUntil = async (isEnough: (text: string) => boolean): Promise<string> => {
    let text = '';
    for (const deadline = Date.now() + 10_000; !isEnough(text); await delay(5)) {
      text += read();
      if (Date.now() > deadline) throw new Error(`The reader got only ${text.length} characters.`);
    }
    return text;
  };

  it('writes all lines complete and in order to a slow reader', async () => {
    const output = new LogOutput(writer, { chunk: 4096 });
    for (let i = 0; i < LINES; i++) output.write(line(i));
    void output.flush(10_000);
    const text = await readUntil(({ length }) => length === LINES * 100);
    expect(text).to.equal(Array.from({ length: LINES }, (_, i) => line(i)).join(''));
    expect(output.dropped).to.equal(0);
  });

  it('writes a single line within 250 ms', async () => {
    const output = new LogOutput(writer);
    output.write('one\n');
    expect(read()).to.equal('');
    expect(await readUntil((text) => text !== '')).to.equal('one\n');
  });

  it('limits buffered lines, counts dropped lines, and reports them once', async () => {
    const reports: number[] = [];
    const output = new LogOutput(writer, { maxWaiting: 100_000 });
    output.onRecovery = (lines) => reports.push(lines);
    for (let i = 0; i < LINES; i++) output.write(line(i));
    expect(output.dropped).to.equal(LINES - 1000);
    await output.flush(100);
    expect(reports).to.deep.equal([]);
    const text = await readUntil(({ length }) => length >= 100_000);
    expect(text).to.equal(Array.from({ length: 1000 }, (_, i) => line(i)).join(''));
    await output.flush(5000);
    output.write('later\n');
    await output.flush(5000);
    expect(read()).to.equal('later\n');
    expect(reports).to.deep.equal([1000]);
  });

  it('flushSync gives up at its deadline if nothing reads', () => {
    const output = new LogOutput(writer);
    for (let i = 0; i < LINES; i++) output.write(line(i));
    const since = performance.now();
    output.flushSync(200);
    expect(performance.now() - since).to.be.within(150, 2000);
  });

  it('flushSync writes all lines, including multi-byte characters', () => {
    const output = new LogOutput(writer);
    output.write('für\n');
    output.write('€\n');
    output.flushSync(200);
    expect(read()).to.equal('für\n€\n');
  });

  it('survives a full disk, and flush resolves at its deadline', async () => {
    const full = openSync('/dev/full', 'w');
    const output = new LogOutput(full, { maxWaiting: 1000 });
    for (let i = 0; i < 20; i++) output.write(line(i));
    const since = performance.now();
    await output.flush(200);
    output.flushSync(200);
    expect(performance.now() - since).to.be.within(150, 2000);
    expect(output.dropped).to.equal(10);
    closeSync(full);
  });

  it('survives when its reader exits, and writes to the next reader', async () => {
    const output = new LogOutput(writer);
    closeSync(reader);
    output.write('kept\n');
    await output.flush(100);
    reader = openSync(join(folder, 'pipe'), constants.O_RDONLY | constants.O_NONBLOCK);
    expect(await readUntil((text) => text !== '')).to.equal('kept\n');
  });
});
