/** The mix of requests: every endpoint and page, from many kinds of clients, with invalid requests among them. */
import { createKey } from '../../core/keys/key.js';
import { type Random, randomFrom } from '../../plugins/metro/sample/random.js';
import { BASE } from '../service.js';

/** A request and its expected responses. */
export interface Ask {
  readonly kind: string;
  readonly method: string;
  /** The key of the response's ETag. */
  readonly target: string;
  /** Its bytes, with the body. */
  readonly text: string;
  readonly expected: readonly number[];
  /** Whether its connection is kept, closed after the response, or cut before it. */
  readonly connection: 'keep' | 'close' | 'abort';
}

export interface MixOptions {
  readonly seed: string;
  readonly cbsas: readonly string[];
  readonly series: readonly string[];
  /** Has a high limit. */
  readonly key: string;
  /** Has a low limit, and is rejected most of the time. */
  readonly limitedKey: string;
  /** Whether the store keeps earlier versions. */
  readonly versions: boolean;
  /** ETags by target. */
  readonly etags: ReadonlyMap<string, string>;
}

/** The status of an overload, which is expected on a busy machine and counted separately. */
export const OVERLOADED = 503;

const choose = <T>(random: Random, values: readonly T[]): T =>
  values[Math.floor(random.uniform() * values.length)] as T;

const day = (random: Random): string =>
  new Date(Date.UTC(1990 + random.uniform() * 36, random.uniform() * 12, 1 + random.uniform() * 28))
    .toISOString()
    .slice(0, 10);

/** Data targets: most requests use a few URLs, some use URLs that rarely repeat. */
const dataTarget = (random: Random, { cbsas, series }: MixOptions): string => {
  const cbsa = choose(random, cbsas);
  const targets = [
    '/markets',
    `/markets/${cbsa}`,
    `/markets/${cbsa}`,
    `/markets/${cbsa}`,
    `/markets/${cbsa}/history`,
    `/markets/${cbsa}/forecast-track`,
    `/movers?limit=${1 + Math.floor(random.uniform() * 50)}`,
    '/forecasts',
    `/forecasts/${cbsa}/history`,
    '/forecast-runs',
    '/forecast-backtest',
    '/signals',
    '/series',
    `/observations?series_id=${choose(random, series)}&since=${day(random)}`,
    `/observations?series_id=metro_hpi&cbsa=${cbsa}&since=${day(random)}`,
  ];
  return `${BASE}${choose(random, targets)}`;
};

const PUBLIC = [`${BASE}/status`, `${BASE}/health`, `${BASE}/openapi.json`, '/docs', '/explore'];
const LISTS = ['/markets', '/signals', '/series', '/forecasts', '/forecast-runs', '/movers'];
const VINTAGES = ['/signals', '/forecasts'];
const WRONG = ['/markets/1', '/movers?limit=0', '/markets?page=2', '/observations?series_id=UNRATE&since=today'];
const ENCODINGS = ['gzip', 'br', 'br;q=0.5, gzip', 'identity'];

interface Sent extends Partial<Pick<Ask, 'method' | 'connection'>>, Pick<Ask, 'target' | 'expected'> {
  /** Header fields. Default: a valid key. */
  readonly lines?: readonly string[];
  readonly body?: string;
}

const bearer = (secret: string): string => `Authorization: Bearer ${secret}`;

const LONG_AGO = new Date(0).toUTCString();

const write = (kind: string, sent: Sent, key: string): Ask => {
  const { target, expected, lines = [bearer(key)], method = 'GET', connection = 'keep', body = '' } = sent;
  const head = [`${method} ${target} HTTP/1.1`, 'Host: soak', ...lines];
  if (connection === 'close') head.push('Connection: close');
  return { kind, target, expected, method, connection, text: `${head.join('\r\n')}\r\n\r\n${body}` };
};

/** Few responses under more URLs than the service memoizes, since letters can be percent-encoded. */
export const manyAddresses = ({ seed, cbsas, key }: MixOptions): (() => Ask) => {
  const random = randomFrom(seed);
  const spelled = (text: string) =>
    text.replace(/\w/g, (letter) => (random.uniform() < 0.5 ? letter : `%${letter.charCodeAt(0).toString(16)}`));
  return () => {
    const query = `series_id=${spelled('metro_hpi')}&cbsa=${spelled(choose(random, cbsas))}`;
    return write('spelling', { target: `${BASE}/observations?${query}`, expected: [200] }, key);
  };
};

/** An endless sequence of requests. A seed repeats it, except for generated keys. */
export const requestMix = (options: MixOptions): (() => Ask) => {
  const random = randomFrom(options.seed);
  const { key, limitedKey, versions, etags } = options;
  const pick = <T>(values: readonly T[]): T => choose(random, values);
  const number = (below: number): number => Math.floor(random.uniform() * below);
  const data = () => dataTarget(random, options);
  const ours = bearer(key);

  const asOf = (): Sent => {
    const kept = versions && random.uniform() < 0.5;
    const date = kept ? new Date().toISOString().slice(0, 10) : '2001-01-01';
    return { target: `${BASE}${pick(VINTAGES)}?as_of=${date}`, expected: kept ? [200] : [404] };
  };
  const conditional = (): Sent => {
    const target = data();
    return { target, expected: [200, 304], lines: [ours, `If-None-Match: ${etags.get(target) ?? '"none"'}`] };
  };
  const traced = (): Sent => {
    const id = number(1e9);
    const traceparent = `traceparent: 00-${String(id).padStart(32, '1')}-00f067aa0ba902b7-01`;
    return { target: data(), expected: [200], lines: [ours, `X-Request-Id: soak-${id}`, traceparent] };
  };

  /** The relative number of each kind. */
  const kinds: Readonly<Record<string, readonly [number, () => Sent]>> = {
    plain: [40, () => ({ target: data(), expected: [200] })],
    conditional: [14, conditional],
    since: [2, () => ({ target: data(), expected: [200], lines: [ours, `If-Modified-Since: ${LONG_AGO}`] })],
    encoded: [8, () => ({ target: data(), expected: [200], lines: [ours, `Accept-Encoding: ${pick(ENCODINGS)}`] })],
    head: [5, () => ({ target: data(), expected: [200], method: 'HEAD' })],
    csv: [5, () => ({ target: `${BASE}${pick(LISTS)}?format=csv`, expected: [200] })],
    public: [4, () => ({ target: pick(PUBLIC), expected: [200] })],
    asOf: [3, asOf],
    traced: [1, traced],
    preflight: [1, () => ({ target: data(), expected: [204], method: 'OPTIONS' })],
    // The sample has no market with such a low code.
    unknownMarket: [3, () => ({ target: `${BASE}/markets/${String(number(1000)).padStart(5, '0')}`, expected: [404] })],
    unknownAddress: [1, () => ({ target: `${BASE}/nothing-${number(1e9)}`, expected: [404] })],
    wrong: [3, () => ({ target: `${BASE}${pick(WRONG)}`, expected: [400] })],
    wrongMethod: [1, () => ({ target: data(), expected: [405], method: pick(['POST', 'DELETE', 'PUT']) })],
    notAcceptable: [1, () => ({ target: data(), expected: [406], lines: [ours, 'Accept: image/png'] })],
    limited: [1, () => ({ target: data(), expected: [200, 429], lines: [bearer(limitedKey)] })],
    // Requests without a valid key count against the client's address.
    unknownKey: [1, () => ({ target: data(), expected: [401, 429], lines: [bearer(createKey().key)] })],
    malformedKey: [1, () => ({ target: data(), expected: [401, 429], lines: [bearer(`mfk_${number(1e9)}`)] })],
    withoutKey: [1, () => ({ target: data(), expected: [401, 429], lines: [] })],
    publicWithoutKey: [1, () => ({ target: pick(PUBLIC), expected: [200, 429], lines: [] })],
    closing: [1, () => ({ target: data(), expected: [200], connection: 'close' })],
    aborted: [1, () => ({ target: data(), expected: [], connection: 'abort' })],
    // The body is rejected without being read, which closes the connection.
    withBody: [1, () => ({ target: data(), expected: [400], lines: [ours, 'Content-Length: 4'], body: 'body' })],
  };
  const byWeight = Object.entries(kinds).flatMap(([kind, [weight, make]]) =>
    Array.from({ length: weight }, () => [kind, make] as const),
  );
  return () => {
    const [kind, make] = pick(byWeight);
    return write(kind, make(), key);
  };
};
