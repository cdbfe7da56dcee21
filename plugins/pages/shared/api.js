/** Reads a value that the page's template provides. @param {string} name @returns {string} */
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';

const service = meta('service');

const KEY = `${service}-key`;

/** Holds the key if the browser does not allow pages to store data. The key is then lost when the page is closed. */
let unstored = '';

/** @returns {string} empty if there is no key */
export const getKey = () => {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
  } catch {
    return unstored;
  }
};

/**
 * Stores the key in this browser.
 * @param {string} key an empty string deletes the key
 * @param {{ remember?: boolean }} [options] `remember`: whether to store the key for all tabs until the user deletes
 *   it. Default: only for this tab, until the tab is closed
 */
export const setKey = (key, { remember = false } = {}) => {
  unstored = key;
  try {
    localStorage.removeItem(KEY);
    sessionStorage.removeItem(KEY);
    if (key !== '') (remember ? localStorage : sessionStorage).setItem(KEY, key);
  } catch {
    // If the browser does not allow pages to store data, the key is only in memory.
  }
  dispatchEvent(new Event('keychange'));
};

// Tabs and frames share stored keys, so a key entered in one of them applies to all of them.
addEventListener('storage', (event) => {
  if (event.key === KEY) dispatchEvent(new Event('keychange'));
});

/** Limits for requests without a key, such as `60 requests per minute`. Empty if a key is required. */
export const anonymousLimits = meta('anonymous');

/** Address where users can get a key. Empty if there is none. */
export const getKeyUrl = meta('get-key');

/** False if a call would return a 401 because a key is required and there is none. */
export const mayCall = () => getKey() !== '' || anonymousLimits !== '';

/** Path prefix of the API: `/api/v1`, or `/lib/api/v1` if a proxy serves the API under `/lib`. */
export const basePath = meta('base-path');

/** Path prefix of the API and of all pages: empty, or `/lib`. */
export const publicPath = meta('public-path');

/** Thrown when an API call fails. `status` is 0 if there was no response. */
export class Problem extends Error {
  /**
   * @param {string} message the message in the API's error
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
 * @param {{ accept?: string, signal?: AbortSignal | undefined, key?: boolean }} [options] `key: false` leaves out the
 *   key, for endpoints that do not need it
 * @returns {Promise<Response>} a response with any status
 */
export const send = (target, { accept = 'application/json', signal, key = true } = {}) => {
  /** @type {Record<string, string>} */
  const headers = { Accept: accept };
  if (key && getKey() !== '') headers['Authorization'] = `Bearer ${getKey()}`;
  return fetch(`${basePath}${target}`, { headers, ...(signal ? { signal } : {}) });
};

/**
 * Calls the API like `send`, but throws an error if the call fails.
 * @param {string} target
 * @param {Parameters<typeof send>[1]} [options]
 * @returns {Promise<Response>}
 * @throws {Problem}
 */
export const request = async (target, options) => {
  if (options?.key !== false && !mayCall()) throw new Problem('', { status: 401, code: 'missing_api_key' });
  let response;
  try {
    response = await send(target, options);
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
 * @param {string} target
 * @param {Parameters<typeof send>[1]} [options]
 * @returns {Promise<any>} the parsed body
 * @throws {Problem}
 */
export const getJson = async (target, options) => (await request(target, options)).json();

/** Environment variable that contains the key in samples and in the documentation. */
export const keyVariable = 'API_KEY';

/**
 * Returns a shell command that makes the call.
 * @param {string} target
 * @returns {string}
 */
export const curlOf = (target) =>
  `curl -H "Authorization: Bearer $${keyVariable}" '${location.origin}${basePath}${target.replaceAll("'", '%27')}'`;
