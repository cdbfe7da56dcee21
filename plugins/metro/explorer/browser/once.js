/**
 * Asks once for each key, and again after a failure.
 * @template Key
 * @returns {<Value>(key: Key, ask: () => Promise<Value>) => Promise<Value>}
 */
export const onceEach = () => {
  /** @type {Map<Key, Promise<any>>} */
  const asked = new Map();
  return (key, ask) => {
    const known = asked.get(key) ?? ask();
    asked.set(key, known);
    known.catch(() => asked.delete(key));
    return known;
  };
};
