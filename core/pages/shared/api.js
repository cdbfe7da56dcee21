/** @param {string} name @returns {string} */
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';

const service = meta('service');

const KEY = `${service}-key`;

/** Holds the key in memory if the browser denies access to storage. */
let unstored = '';

/** @returns {string} */
export const getKey = () => {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
  } catch {
    return unstored;
  }
};

/**
 * @param {string} key
 * @param {{ remember?: boolean }} [options] `remember` stores the key permanently and for all tabs. Default: for this
 *   tab, until the tab is closed
 */
export const setKey = (key, { remember = false } = {}) => {
  unstored = key;
  try {
    localStorage.removeItem(KEY);
    sessionStorage.removeItem(KEY);
    if (key !== '') (remember ? localStorage : sessionStorage).setItem(KEY, key);
  } catch {}
  dispatchEvent(new Event('keychange'));
};

addEventListener('storage', (event) => {
  if (event.key === KEY) dispatchEvent(new Event('keychange'));
});

/** Limits of callers without a key, such as `60 requests per minute`. Empty if the service requires a key. */
export const anonymousLimits = meta('anonymous');

export const getKeyUrl = meta('get-key');

/** Whether the page can call the API, either with a key or because none is required. */
export const mayCall = () => getKey() !== '' || anonymousLimits !== '';

/** Path prefix of the API, such as `/api/v1`. It starts with the path prefix of a proxy, as in `/lib/api/v1`. */
export const basePath = meta('base-path');

/** Path prefix that a proxy adds, such as `/lib`. Empty without a proxy. */
export const publicPath = meta('public-path');

/** Error of an API call. The status is 0 if there was no response. */
export class Problem extends Error {
  /** @param {string} message @param {{ status: number, code: string, retryAfter?: number | undefined }} parts */
  constructor(message, { status, code, retryAfter }) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/**
 * Calls the API. The key is never sent in the URL.
 * @param {string} target path and query, relative to the base path
 * @param {{ accept?: string, signal?: AbortSignal | undefined, key?: boolean }} [options] `key: false` omits the key
 * @returns {Promise<Response>} a response with any status
 */
export const send = (target, { accept = 'application/json', signal, key = true } = {}) => {
  /** @type {Record<string, string>} */
  const headers = { Accept: accept };
  if (key && getKey() !== '') headers['Authorization'] = `Bearer ${getKey()}`;
  return answered(`${basePath}${target}`, { headers }, signal);
};

/** Time in milliseconds to wait for the start of a response. */
const TIMEOUT = 30_000;

/** @param {string | URL} address @param {RequestInit} options @param {AbortSignal} [signal] */
const answered = async (address, options, signal) => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('No response', 'TimeoutError')), TIMEOUT);
  try {
    return await fetch(address, { ...options, signal: AbortSignal.any([late.signal, ...(signal ? [signal] : [])]) });
  } finally {
    clearTimeout(timer);
  }
};

/** @param {Promise<Response>} pending @returns {Promise<Response>} @throws {Problem} */
const successOf = async (pending) => {
  let response;
  try {
    response = await pending;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    throw isLate
      ? new Problem('The service did not respond within 30 seconds.', { status: 0, code: 'timeout' })
      : new Problem('The service cannot be reached.', { status: 0, code: 'unreachable' });
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN);
  throw new Problem(body.error ?? `The service responded with ${response.status}.`, {
    status: response.status,
    code: body.code ?? 'unknown',
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
  });
};

/**
 * @param {string} target @param {Parameters<typeof send>[1]} [options] @returns {Promise<Response>} @throws {Problem}
 */
export const request = async (target, options) => {
  if (options?.key !== false && !mayCall()) throw new Problem('', { status: 401, code: 'missing_api_key' });
  return successOf(send(target, options));
};

/** @param {URL} address @throws {Problem} */
export const fetchFile = (address) => successOf(answered(address, {}));

/** @param {string} target @param {Parameters<typeof send>[1]} [options] @returns {Promise<any>} @throws {Problem} */
export const getJson = async (target, options) => (await request(target, options)).json();

export const keyVariable = 'API_KEY';

/** Samples without a key omit the header, because the service rejects an empty key. */
export const samplesSendKey = () => getKey() !== '' || anonymousLimits === '';

/** @param {string} target @returns {string} */
export const curlOf = (target) => {
  const key = samplesSendKey() ? `-H "Authorization: Bearer $${keyVariable}" ` : '';
  return `curl ${key}'${location.origin}${basePath}${target.replaceAll("'", '%27')}'`;
};
