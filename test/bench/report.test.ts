import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FULL, QUICK, type Settings } from '../../bench/bench.js';
import { EXPRESS, FASTIFY, KOA, SERVICE } from '../../bench/contenders.js';
import { describeMachine } from '../../bench/machine.js';
import {
  type MeasuredSection,
  type Results,
  readResults,
  speedText,
  withSpeedText,
  writeResults,
  writeSpeedText,
} from '../../bench/report.js';
import { lookupsTitle, PAGE, ROW_BY_KEY } from '../../bench/rows-requests.js';
import { DAY_TITLE, FEW_KEYS_TITLE, HUGE_KEY_TITLE } from '../../bench/sections.js';
import { packageRoot } from '../../core/util/package.js';

const table = (title: string, requestsPerSecond: number) => ({
  title,
  columns: ['', 'requests/s', 'spread'],
  rows: [SERVICE, FASTIFY, KOA, EXPRESS].map((name, i) => [name, requestsPerSecond / (i + 1), '1%']),
});
const section = (settings: Settings, ...tables: ReturnType<typeof table>[]): MeasuredSection => ({
  ...{ at: '2026-01-01T00:00:00Z', settings, machine: describeMachine(), tables, notes: ['a note'] },
});
const resultsOf = (settings: Settings): Results => ({
  day: section(settings, table(DAY_TITLE, 1000)),
  keys: section(settings, table(FEW_KEYS_TITLE, 2000), table(HUGE_KEY_TITLE, 3000)),
});

const RESULTS = join(packageRoot, 'bench/results');
const README = 'before\n\n<!-- written by `npm run bench` -->\n\nold\n\n<!-- end of the benchmark -->\n\nafter\n';

describe('the report of a benchmark', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'report-test-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('summarises the section "day" for the README', () => {
    expect(speedText(resultsOf(FULL))).to.equal(
      'With a realistic mix of requests, one core serves 1,000 requests per second. This is 2.0 times as many as ' +
        'Fastify serves with the same features. [All results](bench/results/latest.md)',
    );
    expect(speedText({})).to.equal(undefined);
  });

  it('adds a sentence about a million rows if the section "rows" was measured', () => {
    const lookups = {
      title: lookupsTitle(1_000_000),
      columns: ['', 'x'],
      rows: [
        [ROW_BY_KEY, 1.14],
        [PAGE, 0.53],
      ],
    };
    expect(speedText({ ...resultsOf(FULL), rows: section(FULL, lookups) })).to.include(
      'takes 1.1 times the CPU time for one of a million rows, and 0.5 times the CPU time for a page of 100 rows.',
    );
  });

  it('replaces the text between the markers in the README, but not after a quick run', async () => {
    const path = join(folder, 'README.md');
    await writeFile(path, README);
    await writeSpeedText(path, resultsOf(QUICK));
    expect(await readFile(path, 'utf8')).to.equal(README);
    await writeSpeedText(path, resultsOf(FULL));
    const text = await readFile(path, 'utf8');
    expect(text).to.equal(README.replace('old', speedText(resultsOf(FULL))!));
    await writeSpeedText(path, resultsOf(FULL));
    expect(await readFile(path, 'utf8')).to.equal(text);
    expect(() => withSpeedText('no marks', '')).to.throw('The README needs <!-- written');
  });

  it('keeps stored sections without new figures, and drops sections that no longer exist', async () => {
    await writeFile(join(folder, 'latest.json'), JSON.stringify({ ...resultsOf(FULL), deleted: section(FULL) }));
    const results = await writeResults(folder, { day: section(FULL, table(DAY_TITLE, 5000)) });
    expect(Object.keys(results)).to.deep.equal(['day', 'keys']);
    const markdown = await readFile(join(folder, 'latest.md'), 'utf8');
    expect(markdown).to.include('5,000').and.include(HUGE_KEY_TITLE).and.include('- a note');
    const chart = await readFile(join(folder, 'throughput.svg'), 'utf8');
    expect(chart).to.include('Realistic mix of requests').and.include('5,000');
  });

  it('matches the stored Markdown and chart, and the README', async () => {
    const results = await readResults(RESULTS);
    const written = await writeResults(folder, results);
    for (const name of ['latest.json', 'latest.md', 'throughput.svg']) {
      expect(await readFile(join(folder, name), 'utf8'), name).to.equal(await readFile(join(RESULTS, name), 'utf8'));
    }
    const readme = await readFile(join(packageRoot, 'README.md'), 'utf8');
    expect(withSpeedText(readme, speedText(written)!)).to.equal(readme);
  });
});
