/** What becomes of results: `latest.md`, the chart and the README's figures. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
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
import { DAY_TITLE } from '../../bench/sections/day.js';
import { EXACTNESS_TITLE, HUGE_KEY_TITLE, USUAL_KEYS_TITLE } from '../../bench/sections/keys.js';
import { FULL, QUICK, type Settings } from '../../bench/settings.js';
import { packageRoot } from '../../core/util/package.js';

const NAMES = [SERVICE, 'somebody else', FASTIFY, KOA, EXPRESS];
const table = (title: string, first: number) => ({
  title,
  columns: ['', 'requests/s', 'spread'],
  rows: NAMES.map((name, i) => [name, first + i, '1%']),
});
const section = (settings: Settings, ...tables: ReturnType<typeof table>[]): MeasuredSection => ({
  at: '2026-01-01T00:00:00Z',
  settings,
  machine: describeMachine(),
  tables,
  notes: [],
});
const resultsOf = (settings: Settings): Results => ({
  day: section(settings, table(DAY_TITLE, 1000)),
  keys: section(settings, ...[table(USUAL_KEYS_TITLE, 2000), table(HUGE_KEY_TITLE, 3000), table(EXACTNESS_TITLE, 600)]),
});

const README = 'before\n\n<!-- written by `npm run bench` -->\n\nold\n\n<!-- end of what is written -->\n\nafter\n';

describe('the report of a benchmark', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'report-test-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('tells the day first, then many keys, then the huge key, and how exact each limit is', () => {
    const lines = speedText(resultsOf(FULL))!.split('\n');
    expect(lines[0]).to.equal(
      'Of a limit of 600 a minute, one key got through within 60 seconds at most: ' +
        `${SERVICE} 600, ${FASTIFY} 602, ${KOA} 603, ${EXPRESS} 604.`,
    );
    const cells = lines.slice(2).map((line) => line.split('|').map((cell) => cell.trim()));
    expect(cells[0]?.slice(2, 5)).to.deep.equal(["A user's day", 'One market, 5,000 keys', 'One market, one huge key']);
    expect(cells[3]?.slice(1, 5)).to.deep.equal([FASTIFY, '1,002', '2,002', '3,002']);
  });

  it('writes the README between its marks, and from no quick run', async () => {
    const path = join(folder, 'README.md');
    await writeFile(path, README);
    await writeSpeedText(path, resultsOf(QUICK));
    expect(await readFile(path, 'utf8')).to.equal(README);
    await writeSpeedText(path, resultsOf(FULL));
    const text = await readFile(path, 'utf8');
    expect(text).to.equal(README.replace('old', speedText(resultsOf(FULL))!));
    await writeSpeedText(path, resultsOf(FULL));
    expect(await readFile(path, 'utf8')).to.equal(text);
    expect(() => withSpeedText('no marks', '')).to.throw('has no <!-- written');
  });

  it('keeps sections that were not measured, and drops those that exist no more', async () => {
    await writeFile(join(folder, 'latest.json'), JSON.stringify({ ...resultsOf(FULL), gone: section(FULL) }));
    const day = section(FULL, table(DAY_TITLE, 5000));
    const results = await writeResults(folder, { day });
    expect(Object.keys(results)).to.have.members(['day', 'keys']);
    expect(await readFile(join(folder, 'latest.md'), 'utf8'))
      .to.include('5,000')
      .and.include(HUGE_KEY_TITLE);
    expect(await readFile(join(folder, 'throughput.svg'), 'utf8'))
      .to.include("A user's day")
      .and.include('5,000');
  });

  it('is what the README has', async () => {
    const text = speedText(await readResults(join(packageRoot, 'bench/results/latest.json'))) ?? '';
    const readme = await readFile(join(packageRoot, 'README.md'), 'utf8');
    expect(withSpeedText(readme, text)).to.equal(readme);
  });
});
