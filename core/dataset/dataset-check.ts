/** Checks a dataset whose rows somebody else reads: each once, in passing. */
import type { Collection, Manifest } from '../contracts/dataset.js';
import { type Fault, FaultList } from './fault.js';
import type { Rows } from './ndjson.js';
import { RowCheck, type Target } from './row-check.js';

export class DatasetCheck {
  /** Collections in the order to read them: so that keys are known before they are referred to, where possible. */
  readonly order: readonly Collection[];
  readonly faults: FaultList;
  readonly #targets: ReadonlyMap<string, Target>;
  readonly #checks: ReadonlyMap<string, RowCheck>;

  /**
   * @param manifest of the dataset
   * @param maxFaults how many faults to keep; all are counted
   * @param fileOf the name that faults call a collection by
   */
  constructor(
    collections: ReadonlyMap<string, Collection>,
    manifest: Pick<Manifest, 'created'>,
    maxFaults = 100,
    fileOf: (collection: string) => string = (name) => name,
  ) {
    this.faults = new FaultList(maxFaults);
    this.order = referencedFirst(collections);
    const targets = targetsOf(collections);
    const check = (collection: Collection) =>
      new RowCheck(collection, manifest, fileOf(collection.name), targets, (fault) => this.report(fault));
    this.#targets = targets;
    this.#checks = new Map(this.order.map((collection) => [collection.name, check(collection)]));
  }

  report(fault: Fault): void {
    this.faults.add(fault);
  }

  /** The next rows of a declared collection. Those that are undefined have been reported by their reader. */
  add(collection: string, { firstRow, documents }: Rows): void {
    const check = this.#checks.get(collection) as RowCheck;
    for (let i = 0; i < documents.length; i++) {
      const document = documents[i];
      if (document) check.add(document, firstRow + i);
    }
  }

  /** To be called after the last row of a collection. */
  complete(collection: string): void {
    const target = this.#targets.get(collection);
    if (target) target.complete = true;
  }

  /** To be called after the last collection. */
  finish(): FaultList {
    for (const check of this.#checks.values()) check.finish();
    return this.faults;
  }
}

const targetsOf = (collections: ReadonlyMap<string, Collection>): ReadonlyMap<string, Target> =>
  new Map(
    [...collections.values()]
      .flatMap(({ references = [] }) => references)
      // A collection that nobody declares has no documents.
      .map(({ to }) => [to, { keys: new Set<string>(), complete: !collections.has(to) }]),
  );

const referencedFirst = (collections: ReadonlyMap<string, Collection>): Collection[] => {
  const ordered = new Set<Collection>();
  const visit = (collection: Collection | undefined, path: readonly Collection[]): void => {
    if (!collection || ordered.has(collection) || path.includes(collection)) return;
    for (const { to } of collection.references ?? []) visit(collections.get(to), [...path, collection]);
    ordered.add(collection);
  };
  for (const collection of collections.values()) visit(collection, []);
  return [...ordered];
};
