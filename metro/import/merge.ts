/** A dataset after an import: what is imported, in the place of what it replaces, beside all that was there. */
import type { Source } from '../../core/contracts/dataset.js';
import type { Dataset } from '../../core/contracts/storage.js';
import { compareScalars } from '../../core/storage/compare.js';
import {
  backtests,
  forecastRuns,
  forecasts,
  hpi,
  type Market,
  markets,
  observations,
  type Series,
  series,
} from '../collections.js';
import { type Entry, macroEntry, metroEntry, toHpi, toMarket, toObservations } from './documents.js';
import type { MacroSeries } from './fred.js';
import type { Imported } from './read.js';

type Rows = AsyncIterable<readonly object[]>;

export interface Merged {
  readonly sources: readonly Source[];
  /** Every collection of the old dataset and of Metro Forecast, in key order. May be read more than once. */
  readonly collections: ReadonlyMap<string, () => Rows>;
  /** Codes of markets that the new index does not have. */
  readonly droppedMarkets: readonly string[];
}

/** Collections that are computed from the index. */
export const DERIVED = [forecastRuns.name, forecasts.name, backtests.name] as const;

async function* nothing(): AsyncGenerator<readonly object[]> {}

async function* batchesOf(batches: Iterable<readonly object[]>): AsyncGenerator<readonly object[]> {
  yield* batches;
}

const readAll = async <T>(rows: Rows): Promise<T[]> => {
  const all: T[] = [];
  for await (const batch of rows) all.push(...(batch as readonly T[]));
  return all;
};

const byId = (a: { series_id: string }, b: { series_id: string }) => compareScalars(a.series_id, b.series_id);

/** The observations there were, without those of the imported series, and the imported ones in their places. */
async function* mergeObservations(old: Rows, imported: readonly MacroSeries[]): AsyncGenerator<readonly object[]> {
  const ids = new Set(imported.map(({ id }) => id));
  let next = 0;
  for await (const batch of old) {
    let kept: object[] = [];
    for (const row of batch as readonly { series_id: string }[]) {
      if (ids.has(row.series_id)) continue;
      for (; next < imported.length && compareScalars((imported[next] as MacroSeries).id, row.series_id) < 0; next++) {
        yield kept;
        kept = [];
        yield toObservations(imported[next] as MacroSeries);
      }
      kept.push(row);
    }
    yield kept;
  }
  for (; next < imported.length; next++) yield toObservations(imported[next] as MacroSeries);
}

/**
 * Puts what was imported in the place of what it replaces.
 *
 * - FHFA's index replaces `markets`, `hpi`, the series `metro_hpi` and its source. What was computed from the
 *   index before it (`forecast_runs`, `forecasts`, `backtests`, and the markets' figures from them) goes with
 *   it: beside revised values it would mix two vintages, and may speak of markets that no longer exist.
 *   `forecast` computes it anew.
 * - A macro series replaces that series alone, and nothing is computed from it.
 * - All else stays, collections of other plugins included.
 *
 * @param old the dataset that was there, and the names of its collections; undefined when there was none
 * @param loadedAt RFC 3339, UTC
 */
export const merge = async (
  old: { readonly dataset: Dataset; readonly collections: readonly string[] } | undefined,
  { index, macro }: Imported,
  loadedAt: string,
): Promise<Merged> => {
  const names = new Set(old?.collections);
  const readOld = (name: string): Rows => (names.has(name) ? (old?.dataset.read(name) ?? nothing()) : nothing());

  const entries: Entry[] = macro.map((one) => macroEntry(one, loadedAt));
  if (index !== undefined) entries.push(metroEntry(index, loadedAt));
  const replaced = new Set(entries.map((entry) => entry.series.series_id));

  const oldSeries = (await readAll<Series>(readOld(series.name))).filter((one) => !replaced.has(one.series_id));
  const catalog = [...oldSeries, ...entries.map((entry) => entry.series)].sort(byId);
  const oldSources = (old?.dataset.manifest.sources ?? []).filter(({ id }) => !replaced.has(id));
  const sources = [...oldSources, ...entries.map((entry) => entry.source)];
  sources.sort((a, b) => compareScalars(a.id, b.id));

  const collections = new Map<string, () => Rows>();
  for (const name of [...names, markets.name, hpi.name, ...DERIVED]) collections.set(name, () => readOld(name));
  collections.set(series.name, () => batchesOf([catalog]));
  collections.set(observations.name, () => mergeObservations(readOld(observations.name), macro));
  if (index === undefined) return { sources, collections, droppedMarkets: [] };

  const codes = new Set(index.map(({ cbsa }) => cbsa));
  const oldCodes = (await readAll<Market>(readOld(markets.name))).map(({ cbsa }) => cbsa);
  collections.set(markets.name, () => batchesOf([index.map(toMarket)]));
  collections.set(hpi.name, async function* () {
    for (const area of index) yield toHpi(area);
  });
  for (const name of DERIVED) collections.set(name, nothing);
  return { sources, collections, droppedMarkets: oldCodes.filter((code) => !codes.has(code)) };
};
