/** Generates reproducible random numbers. A seed gives the same numbers on every machine. */

export interface Random {
  /** Returns a number in [0, 1), uniformly distributed in steps of 2^-32. */
  uniform(): number;
  /** Returns a sum of 12 uniform numbers minus 6, which is approximately normally distributed (Irwin-Hall). */
  normal(): number;
}

/** 32-bit FNV-1a hash function (Fowler, Noll and Vo). */
const hash = (text: string): number => {
  let bits = 0x811c9dc5;
  for (const byte of Buffer.from(text)) bits = Math.imul(bits ^ byte, 0x01000193);
  return bits >>> 0;
};

/**
 * Returns an independent stream for each seed. Like SplitMix (Steele, Lea and Flood, "Fast Splittable Pseudorandom
 * Number Generators", 2014), it passes a Weyl sequence through the finaliser of MurmurHash3 (Austin Appleby).
 */
export const randomFrom = (seed: string): Random => {
  let state = hash(seed);
  const uniform = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
  const normal = (): number => {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += uniform();
    return sum;
  };
  return { uniform, normal };
};
