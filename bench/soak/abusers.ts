/**
 * The abusers, in a process of their own, so that what they do here keeps nobody else waiting.
 * Arguments: the port of the service, a key, and for how many seconds. Prints how many addresses they came from.
 */
import { createKey } from '../../core/keys/key.js';
import { BASE } from '../service.js';
import { repeat, send, sendRaw } from './send.js';

/** Each kind of abuse, so often: ten kinds are what a few attackers with one connection each bring. */
const ABUSE_PER_SECOND = 25;

let count = 0;
const freshAddress = (): string => {
  count++;
  return `[2001:db8:${(count >> 16).toString(16)}:${(count & 0xffff).toString(16)}::1]:443`;
};

/** 64 KB in which every value has a fault that a schema would describe. */
const FAULTY_HELLO = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { clientInfo: { name: 'a', version: '1', icons: new Array(32_000).fill(1) } },
});

/** The kinds, by name. Each comes from an address of its own, as `X-Forwarded-For` of the proxy before the service has it. */
const kindsOf = (port: number, key: string): Readonly<Record<string, () => Promise<unknown>>> => {
  const from = () => ({ 'X-Forwarded-For': freshAddress() });
  const raw = (path: string, fields = '') =>
    `GET ${BASE}${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${freshAddress()}\r\n${fields}\r\n`;
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_markets', arguments: {} } };
  const mcp = { ...{ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, Accept: 'application/json' };
  return {
    batches: () => send(port, '/mcp', { ...mcp, ...from() }, JSON.stringify(new Array(100).fill(call))),
    'schema faults': () => send(port, '/mcp', { ...mcp, ...from() }, FAULTY_HELLO),
    'broken bodies': () => sendRaw(port, `POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`),
    nesting: () => send(port, '/mcp', { ...mcp, ...from() }, '['.repeat(30_000)),
    'long Accept': () => send(port, `${BASE}/health`, { Accept: 'a/b,'.repeat(3500), ...from() }),
    parameters: () => send(port, `${BASE}/health?${'a&'.repeat(3500)}`, from()),
    'new /64s': () => Promise.all(Array.from({ length: 20 }, () => send(port, `${BASE}/status`, from()))),
    'invalid keys': () => send(port, `${BASE}/markets`, { Authorization: `Bearer ${createKey().key}`, ...from() }),
    upgrades: () => sendRaw(port, raw('/health', 'Connection: Upgrade\r\nUpgrade: h2c\r\n') + raw('/health')),
    'slow readers': () => sendRaw(port, raw('/openapi.json').repeat(20), { reads: false, ms: 5000 }),
  };
};

const [port = '', key = '', seconds = ''] = process.argv.slice(2);
const kinds = Object.values(kindsOf(Number(port), key));
await Promise.all(kinds.map((task) => repeat(ABUSE_PER_SECOND, Number(seconds) * 1000, task)));
process.stdout.write(String(count), () => process.exit());
