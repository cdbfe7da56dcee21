/** Which mutation is in force, and which places were passed. Imported by every instrumented file of a process. */

/** None has this number. */
export const NONE = -1;
/** A place that is passed this many times more often than without the mutation is in a loop without end. */
const PATIENCE = 100;

let active = Number(process.env['MUTANT'] ?? NONE);
let left = Number.POSITIVE_INFINITY;
let passed: number[] = [];

export const __mutant = (id: number): boolean => {
  passed[id] = (passed[id] ?? 0) + 1;
  if (id !== active) return false;
  if (--left < 0) throw new Error('This mutant makes a loop without end.');
  return true;
};

/** @param usual how often the place is passed without it */
export const activate = (id: number, usual = Number.POSITIVE_INFINITY): void => {
  active = id;
  left = (usual + 100) * PATIENCE;
};

/** How often each place has been passed since the last call. */
export const takePassed = (): ReadonlyMap<number, number> => {
  const taken = new Map<number, number>();
  passed.forEach((count, id) => {
    taken.set(id, count);
  });
  passed = [];
  return taken;
};
