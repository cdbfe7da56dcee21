/** Sends many requests over keep-alive connections and records the times of responses. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** Times are in milliseconds on the monotonic clock of this process. */
export interface Answer {
  readonly path: string;
  readonly sent: number;
  readonly received: number;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class LoadClient {
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, key: string, connections = 16, headers: Readonly<Record<string, string>> = {}) {
    this.#url = new URL(url);
    this.#headers = { Authorization: `Bearer ${key}`, ...headers };
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** The promise never rejects. */
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

/** Sends requests at a fixed rate, regardless of response times. `stop` resolves with all responses. */
export const sendSteadily = (client: LoadClient, perSecond: number, nextPath: () => string) => {
  const requests: Promise<Answer>[] = [];
  const since = performance.now();
  let going = true;
  const sending = (async () => {
    while (going) {
      const due = Math.ceil(((performance.now() - since) * perSecond) / 1000);
      while (requests.length < due) requests.push(client.get(nextPath()));
      await delay(5);
    }
  })();
  return {
    async stop(): Promise<readonly Answer[]> {
      going = false;
      await sending;
      return Promise.all(requests);
    },
  };
};

export const sendAll = async (
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

export const longest = (answers: readonly Answer[]): number =>
  Math.ceil(Math.max(0, ...answers.map(({ sent, received }) => received - sent)));
