/**
 * Returns a function that loads each key once. If a load fails, the next call with the same key tries again.
 * @template Key @returns {<Value>(key: Key, load: () => Promise<Value>) => Promise<Value>}
 */
export const onceEach = () => {
  /** @type {Map<Key, Promise<any>>} */
  const loaded = new Map();
  return (key, load) => {
    const known = loaded.get(key) ?? load();
    loaded.set(key, known);
    known.catch(() => loaded.delete(key));
    return known;
  };
};
