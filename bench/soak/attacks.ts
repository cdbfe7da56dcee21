/**
 * Arguments: the attack, the port, a comma-separated list of keys, and the duration in seconds. Prints the number of
 * responses by status. Status 0 means that the connection was closed without a response.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createKey } from '../../core/keys/key.js';
import { metroAreas } from '../../plugins/metro/areas.js';
import { exchange, formatRequest, type Message, repeat, send as sendOne } from '../client.js';
import { seriesIds } from '../dataset.js';
import { BASE, bearer } from '../service.js';
import type { AttackName } from './abuse.js';

type Task = () => Promise<readonly number[]>;

interface Attack {
  readonly perSecond: number;
  readonly task: Task;
}

const GRACE_SECONDS = 5;

const [name = '', portText = '', keyList = '', seconds = ''] = process.argv.slice(2);
const port = Number(portText);
const keys = keyList.split(',');

const send = async (message: Message): Promise<readonly number[]> => [(await sendOne(port, message)).status];

let addresses = 0;
const newAddress = () => {
  addresses++;
  const [high, low] = [addresses >> 16, addresses & 0xffff].map((part) => part.toString(16));
  return { 'X-Forwarded-For': `[2001:db8:${high}:${low}::1]:443` };
};
const fromNewAddress = (path: string, headers: Message['headers'] = {}): Message => ({
  path: BASE + path,
  headers: { ...headers, ...newAddress() },
});

const MCP_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
const toolCall = (tool: string, args: object) => call('tools/call', { name: tool, arguments: args });
const mcp = (body: string, key: string, headers: Message['headers'] = {}) =>
  send({ method: 'POST', path: '/mcp', headers: { ...MCP_HEADERS, Authorization: bearer(key), ...headers }, body });

const BATCH = JSON.stringify(new Array(100).fill(toolCall('list_markets', {})));
/** A message of 64 KB in which every value violates a schema. */
const INVALID_HELLO = JSON.stringify(
  call('initialize', { clientInfo: { name: 'a', version: '1', icons: new Array(32_000).fill(1) } }),
);
const BROKEN_BODY = 'POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';
const UPGRADE = { Connection: 'Upgrade', Upgrade: 'h2c' };

const malformed = (): readonly Attack[] => {
  const raw = (path: string, headers = {}) => formatRequest(fromNewAddress(path, headers));
  const tasks: readonly Task[] = [
    ...[BATCH, INVALID_HELLO, '['.repeat(30_000)].map((body) => () => mcp(body, keys[0]!, newAddress())),
    () => exchange(port, BROKEN_BODY, { ms: 1000 }),
    () => send(fromNewAddress('/health', { Accept: 'a/b,'.repeat(3500) })),
    () => send(fromNewAddress(`/health?${'a&'.repeat(3500)}`)),
    async () => (await Promise.all(Array.from({ length: 20 }, () => send(fromNewAddress('/status'))))).flat(),
    () => send(fromNewAddress('/markets', { Authorization: bearer(createKey().key) })),
    () => exchange(port, raw('/health', UPGRADE) + raw('/health'), { ms: 1000 }),
    () => exchange(port, raw('/openapi.json').repeat(20), { reads: false }),
  ];
  return tasks.map((task) => ({ perSecond: 25, task }));
};

const LIMIT_PER_SECOND = 10;

const since = (i: number): string => `${1976 + (i % 48)}-${['01', '04', '07', '10'][Math.floor(i / 48) % 4]}-01`;
const STATES = [...new Set([...metroAreas.values()].flatMap(({ states }) => states))];
const states = (i: number): string => Array.from({ length: 2600 }, (_, j) => STATES[(i * j) % STATES.length]).join();

/**
 * Each caller sends one kind of expensive request up to its limit of 600 requests per minute. No response is requested
 * twice.
 */
const expensive = (): readonly Attack[] => {
  const get = (path: string, key: string) =>
    send({ path: BASE + path, headers: { Authorization: bearer(key), 'Accept-Encoding': 'br' } });
  const tasks: readonly ((key: string, i: number) => Promise<readonly number[]>)[] = [
    (key, i) => get(`/observations?units=log&series_id=metro_hpi,${seriesIds().join()}&since=${since(i)}`, key),
    (key, i) =>
      get(`/observations?series_id=metro_hpi&format=${['csv', 'ndjson', 'parquet'][i % 3]}&since=${since(i)}`, key),
    (key, i) => get(`/signals?state=${states(i)}&sort=-name&limit=${1 + (i % 1000)}`, key),
    (key, i) => get(`/forecast-track?until=${since(i)}`, key),
    (key, i) => mcp(JSON.stringify(toolCall('list_observations', { series_id: 'metro_hpi', since: since(i) })), key),
  ];
  return tasks.map((task, caller) => {
    let i = 0;
    return { perSecond: LIMIT_PER_SECOND, task: () => task(keys[caller]!, i++) };
  });
};

const BURST = 40;

/** Each caller pipelines 40 lists on one connection, up to its limit of 600 requests per minute. */
const bursts = (): readonly Attack[] => {
  const formats = ['json', 'csv', 'parquet', 'ndjson'];
  let i = 0;
  const list = (key: string, isLast: boolean) => {
    const path = `${BASE}/observations?series_id=metro_hpi&format=${formats[i % 4]}&since=${since(i++)}`;
    return formatRequest({ path, headers: { Authorization: bearer(key), ...(isLast && { Connection: 'close' }) } });
  };
  const burst = (key: string) => Array.from({ length: BURST }, (_, at) => list(key, at === BURST - 1)).join('');
  const task = (key: string) => () => exchange(port, burst(key), { ms: 30_000 });
  return keys.map((key) => ({ perSecond: LIMIT_PER_SECOND / BURST, task: task(key) }));
};

const attacks: Readonly<Record<AttackName, () => readonly Attack[]>> = { malformed, expensive, bursts };
const statuses: Record<number, number> = {};
const run = async (task: Task): Promise<void> => {
  for (const status of await task()) statuses[status] = (statuses[status] ?? 0) + 1;
};
const running = attacks[name as AttackName]().map(({ perSecond, task }) =>
  repeat(perSecond, Number(seconds), () => run(task)),
);
// A slow server must not prolong the run, so the process exits without waiting for open connections.
await Promise.race([Promise.all(running), delay((Number(seconds) + GRACE_SECONDS) * 1000)]);
const counts = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
process.stdout.write(counts.join(', '), () => process.exit());
