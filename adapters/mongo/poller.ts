/** Runs a task again and again, never twice at once, and at once when asked. */

export class Poller {
  readonly #task: () => Promise<void>;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #stopped = false;

  /** @param task must not reject */
  constructor(intervalMs: number, task: () => Promise<void>) {
    this.#intervalMs = intervalMs;
    this.#task = task;
  }

  /** Resolves after a run that began after this call, so that it saw everything before the call. */
  poll(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    if (!this.#running) return this.#run();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.poll();
    });
    return this.#next;
  }

  /** Resolves when the last run has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer);
    this.#running = this.#task().finally(() => {
      this.#running = undefined;
      if (!this.#stopped) this.#timer = setTimeout(() => void this.poll(), this.#intervalMs);
    });
    return this.#running;
  }
}
