/** Calls the API with the reader's key, which stays in this browser and is never part of an address. */

/** @param {string} name @returns {string} a value of the page's template */
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';

/** The service's name for programs. */
const service = meta('service');

const KEY = `${service}-key`;

/** The key, if the browser does not let sites store data. It is lost when the page closes. */
let unstored = '';

/** @returns {string} empty without a key */
export const getKey = () => {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
  } catch {
    return unstored;
  }
};

/**
 * @param {string} key empty to forget the key
 * @param {{ remember?: boolean }} [options] `remember`: for all tabs, until the reader forgets the key. Default: for
 *   this tab
 */
export const setKey = (key, { remember = false } = {}) => {
  unstored = key;
  try {
    localStorage.removeItem(KEY);
    sessionStorage.removeItem(KEY);
    if (key !== '') (remember ? localStorage : sessionStorage).setItem(KEY, key);
  } catch {
    // If the browser stores no data, the key stays in memory.
  }
  dispatchEvent(new Event('keychange'));
};

// Other tabs and the frames of a page share the stored keys, so a key that is entered in one of them applies to all.
addEventListener('storage', (event) => {
  if (event.key === KEY) dispatchEvent(new Event('keychange'));
});

/** The limits for readers without a key, in words. Empty if every reader needs a key. */
export const anonymousLimits = meta('anonymous');

/** The page where readers get a key. Empty if there is none. */
export const getKeyUrl = meta('get-key');

/** Whether calls can succeed. Without a key, the response would be a 401 if every reader needs one. */
export const mayCall = () => getKey() !== '' || anonymousLimits !== '';

/** Prefix of every target: `/api/v1`, or `/lib/api/v1` if a proxy serves the API under `/lib`. */
export const basePath = meta('base-path');

/** Prefix of `basePath` and of page URLs: empty, or `/lib`. */
export const publicPath = meta('public-path');

/** A failed call. `status` is 0 if there was no response. */
export class Problem extends Error {
  /**
   * @param {string} message the API's message
   * @param {{ status: number, code: string, retryAfter?: number | undefined }} parts `retryAfter` in seconds
   */
  constructor(message, { status, code, retryAfter }) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/**
 * @param {string} target relative to the base path, with its query
 * @param {{ accept?: string, signal?: AbortSignal | undefined, key?: boolean }} [options] `key: false` for targets
 * that need no key
 * @returns {Promise<Response>} with any status
 */
export const send = (target, { accept = 'application/json', signal, key = true } = {}) => {
  /** @type {Record<string, string>} */
  const headers = { Accept: accept };
  if (key && getKey() !== '') headers['Authorization'] = `Bearer ${getKey()}`;
  return fetch(`${basePath}${target}`, { headers, ...(signal ? { signal } : {}) });
};

/**
 * @param {string} target
 * @param {Parameters<typeof send>[1]} [options]
 * @returns {Promise<Response>} a 200
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
 * @returns {Promise<any>} the body
 * @throws {Problem}
 */
export const getJson = async (target, options) => (await request(target, options)).json();

/** The environment variable from which samples and the documentation read the key. */
export const keyVariable = 'API_KEY';

/**
 * @param {string} target
 * @returns {string} the call as a shell command
 */
export const curlOf = (target) =>
  `curl -H "Authorization: Bearer $${keyVariable}" '${location.origin}${basePath}${target.replaceAll("'", '%27')}'`;
