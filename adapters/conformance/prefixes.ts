/**
 * Strings with a common prefix. Some stores compare only the first bytes of strings, or compare the rest in another
 * order.
 */

/** Includes the sizes of machine words, and common limits of index entries and hashed prefixes. */
const LENGTHS = [1, 2, 3, 4, 7, 8, 9, 15, 16, 24, 31, 32, 63, 64, 100, 127, 128, 191, 254, 255, 256, 512, 1000, 1900];
/** These prefixes have characters of two, three and four bytes. */
const CHARACTERS = ['é', '日', '😀'];

/** The prefixes can be up to 1,900 bytes long. */
export const PREFIXES: readonly string[] = [
  ...LENGTHS.map((length) => 'p'.repeat(length)),
  ...CHARACTERS.flatMap((each) => [2, 4, 8, 63, 250].map((length) => each.repeat(length))),
];

/**
 * Stores often sort or compare these ends by UTF-16 code units or by a collation, or ignore some of them, or compare
 * them as numbers.
 */
// biome-ignore format: in rows
export const ENDINGS: readonly string[] = [
  '', '\0', ' ', '10', '9', '_', 'B', 'a', 'b', 'e\u0301', 'é', 'f', '\ue000', '\uffff', '𐀀', '😀',
];

export const prefixed: readonly string[] = PREFIXES.flatMap((prefix) => ENDINGS.map((ending) => prefix + ending));
