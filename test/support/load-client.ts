/** A caller that sends many requests over kept connections, and keeps what came back and when. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** One request's end. Times are in milliseconds of this process's monotonic clock. */
export interface Answer {
  readonly path: string;
  readonly sent: number;
  readonly received: number;
  /** 0: the connection ended without an answer. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class LoadClient {
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param url with the base path */
  constructor(url: string, key: string, connections = 16, headers: Readonly<Record<string, string>> = {}) {
    this.#url = new URL(url);
    this.#headers = { Authorization: `Bearer ${key}`, ...headers };
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Never rejects. */
  get(path: string): Promise<Answer> {
    const { hostname, port, pathname } = this.#url;
    const options = {
      agent: this.#agent,
      hostname,
      port,
      path: `${pathname}${path}`,
      headers: this.#headers,
    };
    return new Promise((resolve) => {
      const sent = performance.now();
      const end = (status: number, headers: IncomingHttpHeaders, body: string) =>
        resolve({ path, sent, received: performance.now(), status, headers, body });
      const call = request(options, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          body += text;
        });
        response.on('error', () => end(0, {}, ''));
        response.on('end', () => end(response.statusCode ?? 0, response.headers, body));
      });
      call.on('error', () => end(0, {}, ''));
      call.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Sends at a steady rate, however long the answers take, until `stop`, which resolves with all of them. */
export const keepAsking = (client: LoadClient, perSecond: number, nextPath: () => string) => {
  const asked: Promise<Answer>[] = [];
  const since = performance.now();
  let going = true;
  const sending = (async () => {
    while (going) {
      const due = Math.ceil(((performance.now() - since) * perSecond) / 1000);
      while (asked.length < due) asked.push(client.get(nextPath()));
      await delay(5);
    }
  })();
  return {
    async stop(): Promise<readonly Answer[]> {
      going = false;
      await sending;
      return Promise.all(asked);
    },
  };
};

/** Sends as many as there are paths, `atOnce` at a time, as fast as they go. */
export const askAll = async (
  client: LoadClient,
  paths: readonly string[],
  atOnce: number,
): Promise<readonly Answer[]> => {
  const answers: Answer[] = [];
  let next = 0;
  const worker = async () => {
    while (next < paths.length) answers.push(await client.get(paths[next++] as string));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return answers;
};

/** The longest wait, in whole milliseconds. */
export const longest = (answers: readonly Answer[]): number =>
  Math.ceil(Math.max(0, ...answers.map(({ sent, received }) => received - sent)));
