/**
 * JSON: what kind of value it is, and where a text goes wrong. `JSON.parse` gives the place in some versions of Node
 * only, and quotes the text, secrets included.
 */

/** Whether a value has members: an object or a list, not null. */
export const isObject = (value: unknown): value is Record<string | number, unknown> =>
  typeof value === 'object' && value !== null;

/** Whether a value is what JSON calls an object: no list. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !Array.isArray(value);

/**
 * The path of the first NaN or infinite number in a value, or undefined. JSON has neither: they are written as null,
 * and 1e999 is read as infinite.
 */
export const nonFinitePath = (value: unknown): readonly string[] | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : [];
  if (!isObject(value)) return undefined;
  for (const name in value) {
    const inner = value[name];
    if (typeof inner !== 'number' && typeof inner !== 'object') continue;
    const found = nonFinitePath(inner);
    if (found !== undefined) return [name, ...found];
  }
  return undefined;
};

interface JsonError {
  /** Both counted from 1; columns in UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /(?:true|false|null)(?![\w$])/y;

/** Thrown inside the scan alone. */
class Fault {
  constructor(
    readonly offset: number,
    readonly problem: string,
  ) {}
}

/** RFC 8259, and each name at most once in an object: of two, `JSON.parse` would silently drop the first. */
const scan = (text: string): void => {
  let at = 0;
  const read = (token: RegExp): string | undefined => {
    token.lastIndex = at;
    const found = token.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const skip = () => {
    read(SPACE);
  };
  const expected = (what: string): Fault =>
    new Fault(at, at < text.length ? `expected ${what}` : `the text ends where ${what} is expected`);
  const take = (character: string): boolean => {
    skip();
    if (text[at] !== character) return false;
    at++;
    return true;
  };

  const members = (close: string, member: () => void): void => {
    if (take(close)) return;
    do {
      skip();
      if (text[at] === close) throw new Fault(at, `a comma stands before the closing "${close}"`);
      member();
      if (take(close)) return;
    } while (take(','));
    throw expected(`"," or "${close}"`);
  };

  const object = (): void => {
    const names = new Set<string>();
    members('}', () => {
      const start = at;
      const name = read(STRING);
      if (name === undefined) throw expected('a name in double quotes');
      if (names.has(name)) throw new Fault(start, `the name ${name} is there twice in one object`);
      names.add(name);
      if (!take(':')) throw expected('":"');
      value();
    });
  };

  const value = (): void => {
    if (take('{')) object();
    else if (take('[')) members(']', value);
    else if (text[at] === '"') {
      if (read(STRING) === undefined) throw new Fault(at, 'a string is not closed, or has a character to be escaped');
    } else if ((read(WORD) ?? read(NUMBER)) === undefined) throw expected('a value');
  };

  value();
  skip();
  if (at < text.length) throw new Fault(at, 'expected nothing more');
};

/** The first fault of a JSON text, or undefined. */
export const findJsonError = (text: string): JsonError | undefined => {
  try {
    scan(text);
    return undefined;
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    const before = text.slice(0, fault.offset).split('\n');
    return { line: before.length, column: before.at(-1)!.length + 1, problem: fault.problem };
  }
};

/** `line 7, column 3: expected a value` */
export const formatJsonError = ({ line, column, problem }: JsonError): string =>
  `line ${line}, column ${column}: ${problem}`;

/** The text of a file without a byte order mark, which editors of Windows write. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');
