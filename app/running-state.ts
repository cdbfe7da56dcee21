/** The state of a running application: what routes about the service itself are told, and metrics read. */
import type { ServiceState } from '../core/contracts/plugin.js';
import type { Health } from '../core/contracts/runtime.js';
import type { Services } from './services.js';

type Dependencies = Pick<
  Services,
  'clock' | 'storageEvents' | 'adapter' | 'snapshots' | 'keyStore' | 'limiter' | 'cache'
>;

export class RunningState {
  readonly #dependencies: Dependencies;
  readonly #startedAt: Date;
  #storage: Health = { ok: true, message: null };
  #isDraining = false;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#startedAt = new Date(dependencies.clock.now());
    dependencies.storageEvents.on('problem', (sentence) => {
      this.#storage = { ok: sentence === undefined, message: sentence ?? null };
    });
  }

  /** From now on the service counts as draining, which `/health` tells. */
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
      snapshot: snapshots.get()?.reader,
      pingStorage: () => adapter.ping(),
    };
  };
}
