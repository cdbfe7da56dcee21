import type { PublishedVersion, ServiceState } from '../contracts/plugin.js';
import type { Health } from '../contracts/runtime.js';
import type { Snapshot, StorageAdapter } from '../contracts/storage.js';
import { checkedSnapshot } from '../data/checked-snapshot.js';
import { nothingPublished } from '../data/publishing.js';
import { StorageError } from '../errors.js';
import { longWork } from '../util/event-loop.js';
import { withTimeout } from '../util/with-timeout.js';
import type { Parts } from './part-types.js';

type Dependencies = Pick<
  Parts,
  'config' | 'clock' | 'modules' | 'storageEvents' | 'adapter' | 'snapshots' | 'keyStore' | 'limiter' | 'cache'
>;

/**
 * Minimum interval between pings of the store. Requests to `/health` have no rate limit, so they share the result of a
 * ping.
 */
const PING_EVERY_MS = 100;

export class RunningState {
  readonly #dependencies: Dependencies;
  readonly #startedAt: Date;
  #storage: Health = { ok: true, message: null };
  #isDraining = false;
  #ping: Promise<void> | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#startedAt = new Date(dependencies.clock.now());
    dependencies.storageEvents.on('problem', (sentence) => {
      this.#storage = { ok: sentence === undefined, message: sentence ?? null };
    });
  }

  drain(): void {
    this.#isDraining = true;
  }

  readonly read = (): ServiceState => {
    const { clock, adapter, snapshots, keyStore, limiter, cache } = this.#dependencies;
    return {
      now: new Date(clock.now()),
      startedAt: this.#startedAt,
      draining: this.#isDraining,
      health: { storage: this.#storage, limiter: limiter.health(), cache: cache.health(), keys: keyStore.health() },
      snapshot: snapshots.served?.reader,
      pingStorage: () => (this.#ping ??= this.#pingAdapter(adapter)),
      versions: () => this.#versions(),
      usage: async (caller) => (await limiter.usage?.(caller)) ?? [],
    };
  };

  #pingAdapter(adapter: StorageAdapter): Promise<void> {
    const ms = this.#dependencies.config.config.http.answerMs;
    const noReply = (): Error => new StorageError('unavailable', `The store did not respond within ${ms} ms.`);
    const signal = AbortSignal.timeout(ms);
    // If the adapter supports the signal, its `aborted` error can arrive before the error of `withTimeout`.
    const ping = withTimeout(adapter.ping(signal), ms, noReply).catch((error: unknown) => {
      throw signal.aborted ? noReply() : error;
    });
    const forget = (): void => {
      setTimeout(() => {
        this.#ping = undefined;
      }, PING_EVERY_MS).unref();
    };
    ping.then(forget, forget);
    return ping;
  }

  async #versions(): Promise<readonly PublishedVersion[]> {
    const { adapter, snapshots } = this.#dependencies;
    const { versions } = adapter;
    if (versions) {
      return (await versions.list()).map(({ version, publishedAt, current }) =>
        this.#published({ version, publishedAt, current }, () => versions.asOf(publishedAt)),
      );
    }
    const served = snapshots.served;
    if (!served) throw nothingPublished();
    const { version, publishedAt } = served;
    return [this.#published({ version, publishedAt, current: true }, async () => adapter.snapshot())];
  }

  /**
   * @param open returns a locked snapshot. Its version differs from `known.version` if a newer version has been
   *   published
   */
  #published(
    known: Pick<PublishedVersion, 'version' | 'publishedAt' | 'current'>,
    open: () => Promise<Snapshot | undefined>,
  ): PublishedVersion {
    const { collections } = this.#dependencies.modules.registry;
    return {
      ...known,
      async read(work) {
        const snapshot = await open();
        try {
          if (snapshot?.version !== known.version) return undefined;
          return await work(checkedSnapshot(snapshot, collections, undefined, longWork.join()));
        } finally {
          snapshot?.release();
        }
      },
    };
  }
}
