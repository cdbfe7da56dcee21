/** Attacks on the service, by name. Each task sends one request, or one burst, and returns the statuses of the responses. */
import { createKey } from '../../core/keys/key.js';
import { seriesIds } from '../dataset.js';
import { BASE } from '../service.js';
import { readStatuses, send, sendRaw } from './send.js';

type Task = () => Promise<readonly number[]>;

/** Tasks that each run at their own pace. */
export interface Attack {
  readonly perSecond: number;
  readonly task: Task;
}

let addresses = 0;
const freshAddress = (): string => {
  addresses++;
  return `[2001:db8:${(addresses >> 16).toString(16)}:${(addresses & 0xffff).toString(16)}::1]:443`;
};

/** How many addresses the attacks came from. */
export const usedAddresses = (): number => addresses;

const MCP_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

const toolCall = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** 64 KB in which every value violates a schema. */
const FAULTY_HELLO = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { clientInfo: { name: 'a', version: '1', icons: new Array(32_000).fill(1) } },
});

const MALFORMED_PER_SECOND = 25;

/** Malformed requests, guessed keys and slow readers. Each request has an address of its own in `X-Forwarded-For`. */
const malformed = (port: number, key: string): readonly Attack[] => {
  const from = () => ({ 'X-Forwarded-For': freshAddress() });
  const one = async (path: string, headers: Record<string, string>, body?: string) => [
    (await send(port, path, { ...headers, ...from() }, body)).status,
  ];
  const raw = (path: string, fields = '') =>
    `GET ${BASE}${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${freshAddress()}\r\n${fields}\r\n`;
  const mcp = { ...MCP_HEADERS, Authorization: `Bearer ${key}` };
  const batch = JSON.stringify(new Array(100).fill(toolCall('list_markets', {})));
  const tasks: Readonly<Record<string, Task>> = {
    batches: () => one('/mcp', mcp, batch),
    'schema errors': () => one('/mcp', mcp, FAULTY_HELLO),
    nesting: () => one('/mcp', mcp, '['.repeat(30_000)),
    'broken bodies': () => sendRaw(port, 'POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
    'long Accept': () => one(`${BASE}/health`, { Accept: 'a/b,'.repeat(3500) }),
    parameters: () => one(`${BASE}/health?${'a&'.repeat(3500)}`, {}),
    'new /64s': async () => (await Promise.all(Array.from({ length: 20 }, () => one(`${BASE}/status`, {})))).flat(),
    'invalid keys': () => one(`${BASE}/markets`, { Authorization: `Bearer ${createKey().key}` }),
    upgrades: () => sendRaw(port, raw('/health', 'Connection: Upgrade\r\nUpgrade: h2c\r\n') + raw('/health')),
    'slow readers': () => sendRaw(port, raw('/openapi.json').repeat(20), { reads: false, ms: 5000 }),
  };
  return Object.values(tasks).map((task) => ({ perSecond: MALFORMED_PER_SECOND, task }));
};

const since = (i: number): string => `${1976 + (i % 48)}-${['01', '04', '07', '10'][Math.floor(i / 48) % 4]}-01`;
const states = (i: number): string =>
  Array.from({ length: 2600 }, (_, j) => String.fromCharCode(65 + ((i + j) % 26), 65 + ((i * j) % 26))).join();

/** The requests that cost most, each with a response of its own. */
const EXPENSIVE: readonly ((i: number) => string)[] = [
  (i) => `/observations?units=log&series_id=metro_hpi,${seriesIds().join()}&since=${since(i)}`,
  (i) => `/observations?series_id=metro_hpi&format=${['csv', 'ndjson', 'parquet'][i % 3]}&since=${since(i)}`,
  (i) => `/signals?state=${states(i)}&sort=-name&limit=${1 + (i % 1000)}`,
  (i) => `/forecast-track?until=${since(i)}`,
];

const USUAL_LIMIT_PER_SECOND = 10;

/** Callers at their limit of 600 a minute, each with one kind of expensive requests. */
const expensive = (port: number, keys: readonly string[]): readonly Attack[] => {
  const count = keys.map(() => 0);
  const headers = (key: string) => ({ Authorization: `Bearer ${key}`, 'Accept-Encoding': 'br' });
  return keys.map((key, at) => ({
    perSecond: USUAL_LIMIT_PER_SECOND,
    task: async () => {
      const i = count[at]!++;
      const target = EXPENSIVE[at];
      const { status } = target
        ? await send(port, BASE + target(i), headers(key))
        : await send(
            port,
            '/mcp',
            { ...MCP_HEADERS, ...headers(key) },
            JSON.stringify(toolCall('list_observations', { series_id: 'metro_hpi', since: since(i) })),
          );
      return [status];
    },
  }));
};

const BURST = 40;

/** Callers that pipeline 40 lists on one connection, as often as their limit of 600 a minute permits. */
const bursts = (port: number, keys: readonly string[]): readonly Attack[] => {
  let count = 0;
  const formats = ['json', 'csv', 'parquet', 'ndjson'];
  return keys.map((key) => ({
    perSecond: USUAL_LIMIT_PER_SECOND / BURST,
    task: () => {
      const targets = Array.from({ length: BURST }, (_, i) => {
        const close = i === BURST - 1 ? 'Connection: close\r\n' : '';
        const target = `/observations?series_id=metro_hpi&format=${formats[i % 4]}&since=${since(count++)}`;
        return `GET ${BASE}${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${close}\r\n`;
      });
      return readStatuses(port, targets.join(''));
    },
  }));
};

export const ATTACKS = {
  malformed: (port: number, keys: readonly string[]) => malformed(port, keys[0]!),
  expensive,
  bursts,
};
