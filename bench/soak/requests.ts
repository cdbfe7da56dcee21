/** The requests of a soak test cover every endpoint and page in many variants, both valid and invalid. */
import { createKey } from '../../core/keys/key.js';
import { randomFrom } from '../../plugins/metro/sample/random.js';
import type { Message } from '../client.js';
import { type DayOptions, validPaths } from '../day.js';
import { BASE, bearer } from '../service.js';

interface Draft extends Message {
  readonly expected: readonly number[];
  /**
   * Sends the request on a separate connection. With `close`, the server closes the connection after the response. With
   * `abort`, the client closes it before the response.
   */
  readonly raw?: 'close' | 'abort';
}

export interface SoakRequest extends Draft {
  readonly kind: string;
}

export interface MixOptions extends DayOptions {
  readonly key: string;
  readonly limitedKey: string;
  readonly versions: boolean;
  readonly etags: ReadonlyMap<string, string>;
}

/** A busy machine rejects some requests with this status. */
export const OVERLOADED = 503;

const PUBLIC = [`${BASE}/status`, `${BASE}/health`, `${BASE}/openapi.json`, '/docs', '/explore'];
const LISTS = ['/markets', '/signals', '/series', '/forecasts', '/forecast-runs', '/movers'];
const INVALID = ['/markets/1', '/movers?limit=0', '/markets?page=2', '/observations?series_id=UNRATE&since=today'];
const ENCODINGS = ['gzip', 'br', 'br;q=0.5, gzip', 'identity'];

type Headers = Readonly<Record<string, string>>;

/** Returns an endless sequence of requests. The sequence is the same in every run, except for generated keys. */
export const requestMix = (options: MixOptions): (() => SoakRequest) => {
  const { key, limitedKey, versions, etags, series } = options;
  const random = randomFrom('soak');
  const number = (below: number): number => Math.floor(random.uniform() * below);
  const pick = <T>(values: readonly T[]): T => values[number(values.length)] as T;
  const paths = validPaths(options);
  const own = { Authorization: bearer(key) };
  const data = (more: Headers = {}, expected: readonly number[] = [200]): Draft => ({
    ...{ path: BASE + pick(paths), expected },
    headers: { ...own, ...more },
  });
  const withoutKey = (path: string, headers: Headers, expected = [401, 429]): Draft => ({ path, headers, expected });

  const asOf = (): Draft => {
    const isKept = versions && random.uniform() < 0.5;
    const date = isKept ? new Date().toISOString().slice(0, 10) : '2001-01-01';
    return { path: `${BASE}${pick(['/signals', '/forecasts'])}?as_of=${date}`, expected: [isKept ? 200 : 404] };
  };
  const conditional = (): Draft => {
    const { path } = data();
    return { path, expected: [200, 304], headers: { ...own, 'If-None-Match': etags.get(path) ?? '"none"' } };
  };
  const unique = (): Draft => {
    const since = new Date(Date.UTC(1990, 0, number(13_000))).toISOString().slice(0, 10);
    return { path: `${BASE}/observations?series_id=${pick(series)}&since=${since}`, expected: [200] };
  };
  const traced = (): Draft => {
    const id = String(number(1e9));
    return data({ 'X-Request-Id': `soak-${id}`, traceparent: `00-${id.padStart(32, '1')}-00f067aa0ba902b7-01` });
  };

  const kinds: Readonly<Record<string, readonly [number, () => Draft]>> = {
    plain: [30, () => data()],
    unique: [15, unique],
    conditional: [14, conditional],
    since: [2, () => data({ 'If-Modified-Since': new Date(0).toUTCString() })],
    encoded: [8, () => data({ 'Accept-Encoding': pick(ENCODINGS) })],
    head: [5, () => ({ ...data(), method: 'HEAD' })],
    csv: [5, () => ({ path: `${BASE}${pick(LISTS)}?format=csv`, expected: [200] })],
    public: [4, () => ({ path: pick(PUBLIC), expected: [200] })],
    asOf: [3, asOf],
    traced: [1, traced],
    preflight: [1, () => ({ ...data(), expected: [204], method: 'OPTIONS' })],
    // The sample has no code below 01000.
    unknownMarket: [3, () => ({ path: `${BASE}/markets/${String(number(1000)).padStart(5, '0')}`, expected: [404] })],
    unknownPath: [1, () => ({ path: `${BASE}/nothing-${number(1e9)}`, expected: [404] })],
    invalid: [3, () => ({ path: `${BASE}${pick(INVALID)}`, expected: [400] })],
    wrongMethod: [1, () => ({ ...data(), expected: [405], method: pick(['POST', 'DELETE', 'PUT']) })],
    notAcceptable: [1, () => data({ Accept: 'image/png' }, [406])],
    limited: [1, () => data({ Authorization: bearer(limitedKey) }, [200, 429])],
    // Without a valid key, the limit of the client address applies.
    unknownKey: [1, () => withoutKey(data().path, { Authorization: bearer(createKey().key) })],
    malformedKey: [1, () => withoutKey(data().path, { Authorization: bearer(`mfk_${number(1e9)}`) })],
    withoutKey: [1, () => withoutKey(data().path, {})],
    publicWithoutKey: [1, () => withoutKey(pick(PUBLIC), {}, [200, 429])],
    closing: [1, () => ({ ...data({ Connection: 'close' }), raw: 'close' })],
    aborted: [1, () => ({ ...data(), raw: 'abort' })],
    withBody: [1, () => ({ ...data(), expected: [400], body: 'body', raw: 'close' })],
  };
  const weighted = Object.entries(kinds).flatMap(([kind, [weight, make]]) =>
    Array.from({ length: weight }, () => [kind, make] as const),
  );
  return () => {
    const [kind, make] = pick(weighted);
    return { kind, headers: own, ...make() };
  };
};
