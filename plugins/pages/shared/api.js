/** Reads a value that the server wrote into the page. @param {string} name @returns {string} */
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';

const service = meta('service');

const KEY = `${service}-key`;

/** Holds the key if the browser denies access to storage. The key is lost when the page is closed. */
let unstored = '';

/** @returns {string} an empty string if there is no key */
export const getKey = () => {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
  } catch {
    return unstored;
  }
};

/**
 * @param {string} key an empty string deletes the key
 * @param {{ remember?: boolean }} [options] `remember`: whether to store the key permanently and for all tabs. Default:
 *   for this tab, until the tab is closed
 */
export const setKey = (key, { remember = false } = {}) => {
  unstored = key;
  try {
    localStorage.removeItem(KEY);
    sessionStorage.removeItem(KEY);
    if (key !== '') (remember ? localStorage : sessionStorage).setItem(KEY, key);
  } catch {
    // The browser denies access to storage, so the key stays in memory.
  }
  dispatchEvent(new Event('keychange'));
};

// Another tab or frame has changed the stored key.
addEventListener('storage', (event) => {
  if (event.key === KEY) dispatchEvent(new Event('keychange'));
});

/** Limits of callers without a key, such as `60 requests per minute`. Empty if the service requires a key. */
export const anonymousLimits = meta('anonymous');

/** Address where users can get a key. Empty if there is none. */
export const getKeyUrl = meta('get-key');

/** Whether the page can call the API, either with a key or because none is required. */
export const mayCall = () => getKey() !== '' || anonymousLimits !== '';

/** Path prefix of the API, such as `/api/v1`. Includes the prefix of a proxy, as in `/lib/api/v1`. */
export const basePath = meta('base-path');

/** Path prefix of the API and of all pages. Empty unless a proxy adds a prefix such as `/lib`. */
export const publicPath = meta('public-path');

/** Error of an API call. `status` is 0 if there was no response. */
export class Problem extends Error {
  /**
   * @param {string} message message of the API's error
   * @param {{ status: number, code: string, retryAfter?: number | undefined }} parts `retryAfter` is in seconds
   */
  constructor(message, { status, code, retryAfter }) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/**
 * Calls the API. The key is sent only in a header, never in an address.
 * @param {string} target path and query, relative to the base path
 * @param {{ accept?: string, signal?: AbortSignal | undefined, key?: boolean }} [options] `key: false` omits the key, for
 *   endpoints that do not need one
 * @returns {Promise<Response>} a response with any status
 */
export const send = (target, { accept = 'application/json', signal, key = true } = {}) => {
  /** @type {Record<string, string>} */
  const headers = { Accept: accept };
  if (key && getKey() !== '') headers['Authorization'] = `Bearer ${getKey()}`;
  return fetch(`${basePath}${target}`, { headers, ...(signal ? { signal } : {}) });
};

/** @param {Promise<Response>} pending @returns {Promise<Response>} a successful response @throws {Problem} */
const successOf = async (pending) => {
  let response;
  try {
    response = await pending;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem('The service cannot be reached.', { status: 0, code: 'unreachable' });
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
 * Calls the API like `send`, but throws a `Problem` if the call fails.
 * @param {string} target @param {Parameters<typeof send>[1]} [options] @returns {Promise<Response>} @throws {Problem}
 */
export const request = async (target, options) => {
  if (options?.key !== false && !mayCall()) throw new Problem('', { status: 401, code: 'missing_api_key' });
  return successOf(send(target, options));
};

/** @param {URL} address @throws {Problem} */
export const fetchFile = (address) => successOf(fetch(address));

/**
 * @param {string} target @param {Parameters<typeof send>[1]} [options] @returns {Promise<any>} the parsed body
 * @throws {Problem}
 */
export const getJson = async (target, options) => (await request(target, options)).json();

/** Name of the environment variable for the key in samples and in the documentation. */
export const keyVariable = 'API_KEY';

/** Whether samples send a key. The service rejects an empty key, even if calls without a key are allowed. */
export const samplesSendKey = () => getKey() !== '' || anonymousLimits === '';

/** @param {string} target @returns {string} */
export const curlOf = (target) => {
  const key = samplesSendKey() ? `-H "Authorization: Bearer $${keyVariable}" ` : '';
  return `curl ${key}'${location.origin}${basePath}${target.replaceAll("'", '%27')}'`;
};
