/**
 * Handles the part of the address after `#`. That part contains the view and the reader's choices, so that links keep
 * them.
 */

/**
 * Reads an address: `#/books/9780141439587?show=all` has the parts `books` and `9780141439587`.
 * @returns {{ parts: string[], query: URLSearchParams }}
 */
export const readAddress = () => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  try {
    return { parts: path.split('/').map(decodeURIComponent), query: new URLSearchParams(query) };
  } catch {
    return { parts: ['nowhere'], query: new URLSearchParams() };
  }
};

/** @param {readonly string[]} parts @param {URLSearchParams} [query] */
export const addressOf = (parts, query = new URLSearchParams()) => {
  // Commas separate values and need no escape after `#`.
  const asked = query.size > 0 ? `?${query}`.replaceAll('%2C', ',') : '';
  return `#/${parts.map(encodeURIComponent).join('/')}${asked}`;
};

/**
 * Changes the choices in the address. Back goes to the previous view, not to the previous choice.
 * @param {Record<string, string | null>} choices null for the default
 */
export const keepInAddress = (choices) => {
  const { parts, query } = readAddress();
  for (const [name, value] of Object.entries(choices)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  history.replaceState(history.state, '', addressOf(parts, query));
};

/** @param {string | null} list separated by commas */
export const listIn = (list) => (list ?? '').split(',').filter(Boolean);
