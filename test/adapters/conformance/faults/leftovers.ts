import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Manifest } from '../../../../core/contracts/dataset.js';
import type { Query } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { type Content, FolderAdapter, type Move } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const EXITS = 'a process exits after its adapter was';

export const leftoverBugs: readonly BrokenAdapter[] = [
  {
    that: 'keeps the manifest object of its publisher',
    fails: ['documents and the manifest belong to their publisher after publish() has resolved'],
    folder: class extends FolderAdapter {
      readonly #manifests = new Map<string, Manifest>();
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, content);
        this.#manifests.set(this.catalog.moves.at(-1)!.id, manifest);
      }
      override hold(move: Move) {
        const snapshot = super.hold(move);
        return snapshot && { ...snapshot, manifest: this.#manifests.get(move.id) ?? snapshot.manifest };
      }
    },
  },
  {
    that: 'checks the signal only before the first batches',
    fails: [
      'reading from a large dataset a signal aborted after 1 to 20 batches makes find() reject with aborted instead of the next one',
    ],
    folder: class extends FolderAdapter {
      override async *findRows(rowsOf: () => readonly never[], query: Query) {
        const found = this.matching(rowsOf(), query);
        for (let start = 0; start < found.length; start += 1000) {
          if (start < 3000) rowsOf();
          this.assertUsable();
          yield found.slice(start, start + 1000);
        }
      }
    },
  },
  {
    that: 'leaves a listener on the signal of a find that fails',
    fails: ['a signal has no listeners after reads that fail'],
    folder: class extends FolderAdapter {
      override async *findRows(rowsOf: () => readonly never[], query: Query, signal?: AbortSignal) {
        const listen = () => {};
        signal?.addEventListener('abort', listen);
        const rows = rowsOf();
        try {
          yield* super.findRows(() => rows, query, signal);
        } finally {
          signal?.removeEventListener('abort', listen);
        }
      }
    },
  },
  {
    that: 'starts its timer after it was closed',
    fails: [`${EXITS} closed while it was opening`],
    folder: class extends FolderAdapter {
      override async open() {
        this.assertUsable();
        await delay(5);
        this.timer ??= setInterval(() => this.look(), this.pollMs);
        this.look();
      }
    },
  },
  {
    that: 'starts two timers when it is opened twice at the same time',
    fails: [`${EXITS} opened and closed`],
    folder: class extends FolderAdapter {
      override async open() {
        this.assertUsable();
        await delay(1);
        this.assertUsable();
        this.look();
        this.timer = setInterval(() => this.look(), this.pollMs);
      }
    },
  },
  {
    that: 'completes a publication after it was closed',
    fails: ['close() makes a publication in progress reject, unless close() waits for it'],
    folder: class extends FolderAdapter {
      override assertUsable(signal?: AbortSignal) {
        if (!this.publishing) return super.assertUsable(signal);
        if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the publication.');
      }
    },
  },
  {
    that: 'reads its files as Latin-1',
    fails: ['after every adapter was closed all values are returned as they were published'],
    folder: class extends FolderAdapter {
      override contentOf(id: string) {
        const known = this.contents.get(id) ?? JSON.parse(readFileSync(this.path(`${id}.json`), 'latin1'));
        this.contents.set(id, known);
        return known;
      }
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, content);
        this.contents.set(this.catalog.moves.at(-1)!.id, content);
      }
    },
  },
  {
    that: 'lists only ten entries of its audit',
    fails: ['audit list() returns an entry for each of many publications'],
    database: true,
    fault: ({ audit }) => ({ audit: { ...audit!, list: async () => (await audit!.list()).slice(0, 10) } }),
  },
];
