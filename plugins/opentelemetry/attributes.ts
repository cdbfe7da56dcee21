/** What a span says of a request: the stable semantic conventions of HTTP server spans, and a few of our own. */
import type { Attributes } from '@opentelemetry/api';
import type { FinishedRequest } from '../../core/contracts/observer.js';

/** The methods of RFC 9110, PATCH and QUERY: others are as many as an attacker likes. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(
  'CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '),
);

/** `host[:port]`, the host of IPv6 in brackets. */
const HOST = /^\[?(.*?)\]?(?::(\d+))?$/;

/** A failure of the server's; one of the caller's is none. */
export const isFailure = ({ status }: FinishedRequest): boolean => status >= 500;

export const spanName = ({ method, route }: FinishedRequest): string =>
  [KNOWN_METHODS.has(method) ? method : 'HTTP', route].filter(Boolean).join(' ');

/** The query, the caller's address and its user agent are left out, as they are from the log. */
export const attributesOf = (request: FinishedRequest): Attributes => {
  const { id, method, route, path, host, httpVersion, status, key, snapshot, cached } = request;
  const known = KNOWN_METHODS.has(method);
  const [, address, port] = HOST.exec(host ?? '') ?? [];
  return {
    'http.request.method': known ? method : '_OTHER',
    ...(known ? {} : { 'http.request.method_original': method }),
    ...(route === null ? {} : { 'http.route': route }),
    'http.response.status_code': status,
    'http.response.header.x-request-id': [id],
    'url.path': path,
    'url.scheme': 'http',
    ...(address ? { 'server.address': address } : {}),
    ...(port ? { 'server.port': Number(port) } : {}),
    'network.protocol.version': httpVersion,
    ...(isFailure(request) ? { 'error.type': String(status) } : {}),
    ...(key === null ? {} : { 'metro_forecast.key.id': key }),
    ...(snapshot === null ? {} : { 'metro_forecast.snapshot.version': snapshot, 'metro_forecast.cache.hit': cached }),
  };
};
