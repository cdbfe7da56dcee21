let home = '';

/** @param {string} name */
export const setHome = (name) => {
  home = name;
};

/**
 * Splits the fragment of the URL into path segments (`parts`) and a query. For example,
 * `#/books/9780141439587?show=all` has the parts `books` and `9780141439587`.
 * @returns {{ parts: string[], query: URLSearchParams }}
 */
export const readAddress = () => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  try {
    return { parts: (path || home).split('/').map(decodeURIComponent), query: new URLSearchParams(query) };
  } catch {
    return { parts: ['nowhere'], query: new URLSearchParams() };
  }
};

/** @param {readonly string[]} parts @param {URLSearchParams} [query] */
export const addressOf = (parts, query = new URLSearchParams()) => {
  // Commas separate the items of a list. They need no escaping in a fragment.
  const asked = query.size > 0 ? `?${query}`.replaceAll('%2C', ',') : '';
  return `#/${parts.map(encodeURIComponent).join('/')}${asked}`;
};

/** @param {URLSearchParams} query @param {Record<string, string | null>} choices */
export const setChoices = (query, choices) => {
  for (const [name, value] of Object.entries(choices)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
};

/**
 * Replaces the current history entry, so Back still returns to the previous view.
 * @param {Parameters<typeof setChoices>[1]} choices
 */
export const keepInAddress = (choices) => {
  const { parts, query } = readAddress();
  setChoices(query, choices);
  history.replaceState(history.state, '', addressOf(parts, query));
};

/** @param {string | null} list */
export const listIn = (list) =>
  (list ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
