import { compareScalars, type Dataset } from 'metro-forecast-api/adapter';
import type { Source } from 'metro-forecast-api/plugin';
import { nationAndStates } from '../areas.js';
import {
  backtests,
  collections,
  type Forecast,
  type ForecastRun,
  forecastRuns,
  forecasts,
  hpi,
  type Market,
  markets,
  observations,
  type Series,
  series,
} from '../collections.js';
import { quarterOfRun } from '../forecast/run-rows.js';
import { withNewestRun } from '../forecast/runs.js';
import { inOneBatch, type Rows, readAll } from '../rows.js';
import { type Entry, macroEntry, metroEntry, toHpi, toMarket, toObservations, toWideMarkets } from './documents.js';
import type { MetroIndex } from './fhfa.js';
import type { MacroSeries } from './fred.js';
import type { Imported } from './read.js';

export interface Merged {
  readonly sources: readonly Source[];
  readonly collections: ReadonlyMap<string, Rows>;
  readonly droppedMarkets: readonly string[];
  /** Number of rows dropped from each collection because they were computed from the replaced index. */
  readonly droppedRows: Readonly<Record<string, number>>;
}

export interface OldDataset {
  readonly dataset: Dataset;
  readonly collections: readonly string[];
}

/**
 * An import keeps completed published runs and their forecasts. It drops runs that are newer than the imported data:
 * runs for quarters after the last quarter of the new index, and runs published after `loadedAt`.
 */
const recordOf = async (readOld: (name: string) => Rows, index: readonly MetroIndex[], loadedAt: string) => {
  const newest = Math.max(...index.map(({ quarters }) => quarters.at(-1) ?? Number.NEGATIVE_INFINITY));
  const runs = await readAll<ForecastRun>(readOld(forecastRuns.name));
  const rows = await readAll<Forecast>(readOld(forecasts.name));
  const published = runs.filter(
    ({ id, status, basis, published_at = '' }) =>
      status === 'completed' &&
      basis === 'published' &&
      quarterOfRun(id) <= newest &&
      Date.parse(published_at) <= Date.parse(loadedAt),
  );
  const ids = new Set(published.map(({ id }) => id));
  const kept = { runs: published, forecasts: rows.filter(({ run_id }) => ids.has(run_id)) };
  const dropped = {
    [forecastRuns.name]: runs.length - kept.runs.length,
    [forecasts.name]: rows.length - kept.forecasts.length,
    [backtests.name]: (await readAll(readOld(backtests.name))).length,
  };
  return { kept, dropped: Object.fromEntries(Object.entries(dropped).filter(([, count]) => count > 0)) };
};

async function* nothing(): AsyncGenerator<readonly object[]> {}

async function* hpiOf(index: readonly MetroIndex[]): AsyncGenerator<readonly object[]> {
  for (const area of index) yield toHpi(area);
}

const withLevels = (old: readonly Market[], imported: readonly Market[]): Market[] => {
  const all = new Map(old.map((market) => [market.cbsa, market]));
  for (const market of imported)
    all.set(market.cbsa, { ...market, ...all.get(market.cbsa), yoy_price: market.yoy_price });
  return [...all.values()].sort((a, b) => compareScalars(a.cbsa, b.cbsa));
};

async function* mergeObservations(old: Rows, imported: readonly MacroSeries[]): AsyncGenerator<readonly object[]> {
  const ids = new Set(imported.map(({ id }) => id));
  let next = 0;
  for await (const batch of old) {
    let kept: object[] = [];
    for (const row of batch as readonly { series_id: string }[]) {
      if (ids.has(row.series_id)) continue;
      for (; next < imported.length && compareScalars(imported[next]!.id, row.series_id) < 0; next++) {
        yield kept;
        kept = [];
        yield toObservations(imported[next]!);
      }
      kept.push(row);
    }
    yield kept;
  }
  for (; next < imported.length; next++) yield toObservations(imported[next]!);
}

/**
 * Replaces existing data with imported data.
 *
 * - FHFA's index replaces `markets`, `hpi`, the series `metro_hpi` and its source. Published runs and their forecasts
 *   are kept as a record. Reconstructed runs, their forecasts and `backtests` are dropped, because they would mix two
 *   vintages. The `forecast` command recomputes them.
 * - A macro series replaces only the series with the same id. National and state indexes are macro series that also
 *   have a market.
 * @param old undefined if the directory has no dataset yet
 * @param loadedAt RFC 3339, UTC
 */
export const merge = async (
  old: OldDataset | undefined,
  { index, macro }: Imported,
  loadedAt: string,
): Promise<Merged> => {
  const readOld = (name: string): Rows => (old?.collections.includes(name) ? old.dataset.read(name) : nothing());

  const entries: Entry[] = macro.map((one) => macroEntry(one, loadedAt));
  if (index !== undefined) entries.push(metroEntry(index, loadedAt));
  const replaced = new Set(entries.map((entry) => entry.series.series_id));

  const oldSeries = (await readAll<Series>(readOld(series.name))).filter((one) => !replaced.has(one.series_id));
  const catalog = [...oldSeries, ...entries.map((entry) => entry.series)].sort((a, b) =>
    compareScalars(a.series_id, b.series_id),
  );
  const oldSources = (old?.dataset.manifest.sources ?? []).filter(({ id }) => !replaced.has(id));
  const sources = [...oldSources, ...entries.map((entry) => entry.source)];
  sources.sort((a, b) => compareScalars(a.id, b.id));

  const written = new Map<string, Rows>();
  // A dataset must contain every collection, even if it is empty.
  for (const { name } of collections) if (!old?.collections.includes(name)) written.set(name, nothing());
  written.set(series.name, inOneBatch(catalog));
  if (macro.length > 0) written.set(observations.name, mergeObservations(readOld(observations.name), macro));
  const oldMarkets = await readAll<Market>(readOld(markets.name));
  const wide = macro.flatMap(toWideMarkets);
  if (index === undefined) {
    if (wide.length > 0) written.set(markets.name, inOneBatch(withLevels(oldMarkets, wide)));
    return { sources, collections: written, droppedMarkets: [], droppedRows: {} };
  }

  const { kept, dropped } = await recordOf(readOld, index, loadedAt);
  const oldWide = oldMarkets.filter(({ cbsa }) => nationAndStates.has(cbsa));
  const newMarkets = withLevels(oldWide, [...wide, ...index.map(toMarket)]);
  written.set(markets.name, inOneBatch(withNewestRun(newMarkets, kept)));
  written.set(hpi.name, hpiOf(index));
  written.set(forecastRuns.name, inOneBatch(kept.runs));
  written.set(forecasts.name, inOneBatch(kept.forecasts));
  written.set(backtests.name, nothing());
  const codes = new Set(index.map(({ cbsa }) => cbsa));
  const oldMetros = oldMarkets.filter(({ cbsa }) => !nationAndStates.has(cbsa));
  return {
    sources,
    collections: written,
    droppedMarkets: oldMetros.map(({ cbsa }) => cbsa).filter((code) => !codes.has(code)),
    droppedRows: dropped,
  };
};
