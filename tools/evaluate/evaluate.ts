/**
 * `npm run evaluate DIR` computes the figures of the methodology from FHFA and FRED files, and prints them as Markdown.
 * With `--write`, it also writes them to the documentation.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { openDirectory } from '../../core/data/directory.js';
import { packageRoot } from '../../core/util/package.js';
import { defaultRules } from '../../plugins/metro/forecast/default-rules.js';
import { readPanels } from '../../plugins/metro/forecast/forecast-dataset.js';
import { forecastDirectory } from '../../plugins/metro/forecast/forecast-directory.js';
import { defaultForecastOptions } from '../../plugins/metro/forecast/model.js';
import { defaultSpan } from '../../plugins/metro/forecast/runs.js';
import { importInto } from '../../plugins/metro/import/import.js';
import { quarterOf } from '../../plugins/metro/periods.js';
import { indexReleaseOf } from '../../plugins/metro/release-calendar.js';
import { pageModules } from '../../test/support/page-modules.js';
import { startTestApp } from '../../test/support/test-app.js';
import { horizonTables } from './horizons.js';
import { robustness } from './robustness.js';

const DOCUMENTS = ['methodology', 'track-record'].map((name) => join(packageRoot, `docs/explanation/${name}.md`));
const INDEX = /^hpi_at_metro.*\.csv$/;
const WIDE = /STHPI.*\.csv$/;

/** The creation time of the dataset is the release time of its newest quarter. */
const forecastFiles = async (sources: readonly string[], to: string): Promise<void> => {
  await importInto({ sources, to });
  const { manifest } = await openDirectory(to);
  const { latest_period } = manifest.sources.find(({ id }) => id === 'metro_hpi') ?? {};
  const created = new Date(`${indexReleaseOf(quarterOf(latest_period as string))}T14:00:00Z`);
  const input = { options: defaultForecastOptions, rules: defaultRules, span: defaultSpan };
  await forecastDirectory(to, { ...input, created });
};

const panelsOf = async (directory: string) => readPanels((await openDirectory(directory)).dataset);

/** A service with this dataset shows the same figures on the methodology page. */
const figuresOf = async (path: string): Promise<Map<string, string>> => {
  const { figures } = await pageModules('metro/explorer/browser/methodology/figures');
  const app = await startTestApp({ config: { adapter: { use: 'json', options: { path } } } });
  try {
    const get = async (target: string) => (await app.get(target)).json;
    const texts = new Map<string, string>();
    for (const name of Object.keys(figures)) texts.set(name, await figures[name](get));
    return texts;
  } finally {
    await app.close();
  }
};

/** Blocks without content stay empty. The web page fills them with the figures of the running service. */
const writeFigures = async (texts: ReadonlyMap<string, string>): Promise<void> => {
  for (const document of DOCUMENTS) {
    const old = await readFile(document, 'utf8');
    const filled = old.replace(
      /(<!-- figures (\w+) -->\n)(.*?)(<!-- \/figures -->)/gs,
      (block, start: string, name: string, content: string, end: string) =>
        texts.has(name) && content !== '' ? `${start}${texts.get(name)}\n${end}` : block,
    );
    await writeFile(document, filled);
  }
};

const [directory, option] = process.argv.slice(2);
if (!directory) {
  process.stderr.write(
    'Usage: npm run evaluate DIR [-- --write]. DIR contains hpi_at_metro*.csv, HSN1F.csv and optionally *STHPI*.csv.\n',
  );
  process.exit(2);
}
const paths = (await readdir(directory, { recursive: true })).map((path) => join(directory, path));
const indexes = paths.filter((path) => INDEX.test(basename(path))).sort();
const sales = paths.filter((path) => basename(path) === 'HSN1F.csv');
const wide = paths.filter((path) => WIDE.test(basename(path)));
const newest = indexes.at(-1);
if (!newest || sales.length === 0) {
  process.stderr.write(`${directory} must contain hpi_at_metro*.csv and HSN1F.csv.\n`);
  process.exit(1);
}
const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-evaluate-'));
try {
  const current = join(folder, 'current');
  await forecastFiles([newest, ...sales, ...wide], current);
  const texts = await figuresOf(current);
  for (const [name, text] of texts) process.stdout.write(`## ${name}\n\n${text}\n\n`);
  const earlier = indexes.length > 1 ? join(folder, 'earlier') : undefined;
  if (earlier) await importInto({ sources: [indexes.at(-2) as string, ...sales], to: earlier });
  const { panel, nationAndStates } = await panelsOf(current);
  for (const line of horizonTables(panel, nationAndStates)) process.stdout.write(`${line}\n`);
  const older = earlier === undefined ? undefined : (await panelsOf(earlier)).panel;
  for (const line of robustness(panel, older)) process.stdout.write(`${line}\n`);
  if (option === '--write') await writeFigures(texts);
} finally {
  await rm(folder, { recursive: true, force: true });
}
