const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Copies a JSON value. `structuredClone` takes several times as long. */
export const copyOf = <T>(value: T): T => {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (!Object.values(value).some(isObject)) return { ...value };
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each)])) as T;
};
