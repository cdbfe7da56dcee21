/** The address after `#`: which view, and what the reader has chosen in it, so that a link gives the same picture. */

/** @returns {{ parts: string[], query: URLSearchParams }} `#/books/9780141439587?show=all` is `['books', '9780141439587']` and `show` */
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
  // Commas separate values here, and need no escape after `#`.
  const asked = query.size > 0 ? `?${query}`.replaceAll('%2C', ',') : '';
  return `#/${parts.map(encodeURIComponent).join('/')}${asked}`;
};

/**
 * Changes what the address says of the view that is shown. Back leads to the view before, not through each choice.
 * @param {Record<string, string | null>} choices null: as it is without
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
