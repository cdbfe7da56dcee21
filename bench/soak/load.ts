import { setTimeout as delay } from 'node:timers/promises';
import { exchange, formatRequest, send } from '../client.js';
import { OVERLOADED, type SoakRequest } from './requests.js';

const MAX_ETAGS = 10_000;
const ABORT_MS = 2;

export class Load {
  responses = 0;
  readonly statuses = new Map<number, number>();
  readonly unexpected: string[] = [];
  readonly etags = new Map<string, string>();
  readonly #port: number;
  readonly #clients: number;

  constructor(port: number, clients: number) {
    this.#port = port;
    this.#clients = clients;
  }

  async run(next: () => SoakRequest, isDone: () => boolean): Promise<void> {
    const work = async (): Promise<void> => {
      while (!isDone()) await this.#send(next());
    };
    await Promise.all(Array.from({ length: this.#clients }, work));
  }

  async #send(request: SoakRequest): Promise<void> {
    const { kind, path, expected, raw } = request;
    if (raw === 'abort') return void (await exchange(this.#port, formatRequest(request), { ms: ABORT_MS }));
    const [status = 0] = raw ? await exchange(this.#port, formatRequest(request)) : [await this.#fetch(request)];
    this.responses++;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (expected.includes(status) || status === OVERLOADED) return;
    this.unexpected.push(`${kind}: ${path}: ${status}`);
    // Without the delay, an unreachable server would fill the log with errors.
    await delay(10);
  }

  async #fetch(request: SoakRequest): Promise<number> {
    const { status, etag } = await send(this.#port, request);
    if (this.etags.size >= MAX_ETAGS) this.etags.clear();
    if (status === 200 && etag) this.etags.set(request.path, etag);
    return status;
  }
}
