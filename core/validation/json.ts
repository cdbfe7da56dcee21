/**
 * Finds errors in JSON. Errors of `JSON.parse` are not shown, because they quote the text, which might contain secrets.
 * Also, only some versions of Node include the position of the error.
 */

export const isObject = (value: unknown): value is Record<string | number, unknown> =>
  typeof value === 'object' && value !== null;

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !Array.isArray(value);

/** Maximum nesting depth of JSON, so that recursive functions cannot overflow the stack. MongoDB has the same limit. */
export const MAX_DEPTH = 100;

/**
 * Returns the path of a number that JSON cannot represent. `JSON.stringify` would write null, and `JSON.parse` reads
 * 1e999 as Infinity.
 */
export const nonFinitePath = (value: unknown): readonly string[] | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : [];
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = nonFinitePath(value[i]);
      if (found !== undefined) return [String(i), ...found];
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  for (const name in value) {
    const inner = value[name];
    if (typeof inner !== 'number' && typeof inner !== 'object') continue;
    const found = nonFinitePath(inner);
    if (found !== undefined) return [name, ...found];
  }
  return undefined;
};

export const countNames = (value: object): number => {
  let names = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) names += countNames(item);
    return names;
  }
  for (const name in value) {
    names++;
    const inner = (value as Record<string, unknown>)[name];
    if (typeof inner === 'object' && inner !== null) names += countNames(inner);
  }
  return names;
};

export interface JsonSize {
  /** True if the text starts with a brace and nothing follows the matching brace. */
  isObject: boolean;
  depth: number;
  names: number;
  commas: number;
}

const QUOTE = 1;
const OPEN = 2;
const CLOSE = 3;
const COLON = 4;
const COMMA = 5;
const WHITESPACE = 6;
const BACKSLASH = 0x5c;
const DOUBLE_QUOTE = 0x22;
const OPENING_BRACE = 0x7b;

const KINDS = new Uint8Array(256);
for (const [characters, kind] of [
  ['"', QUOTE],
  ['{[', OPEN],
  ['}]', CLOSE],
  [':', COLON],
  [',', COMMA],
  [' \t\r\n', WHITESPACE],
] as const) {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
}

const skipWhitespace = (bytes: Uint8Array, from: number, end: number): number => {
  let at = from;
  while (at < end && KINDS[bytes[at]!] === WHITESPACE) at++;
  return at;
};

export const measureJson = (bytes: Uint8Array, start = 0, end = bytes.length): JsonSize => {
  const first = skipWhitespace(bytes, start, end);
  const size = { isObject: false, depth: 0, names: 0, commas: 0 };
  let depth = 0;
  for (let at = first; at < end; at++) {
    const kind = KINDS[bytes[at]!];
    if (kind === 0) continue;
    if (kind === QUOTE) {
      for (at++; at < end && bytes[at] !== DOUBLE_QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if (kind === COLON) size.names++;
    else if (kind === COMMA) size.commas++;
    else if (kind === OPEN) {
      if (++depth > size.depth) size.depth = depth;
    } else if (kind === CLOSE && --depth <= 0) {
      size.isObject = depth === 0 && bytes[first] === OPENING_BRACE && skipWhitespace(bytes, at + 1, end) === end;
      break;
    }
  }
  return size;
};

interface JsonError {
  /** Lines and columns start at 1. Columns are counted in UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

const SPACE = /[ \t\n\r]*/y;
const PLAIN = /[ !#-[\]-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /(?:true|false|null)(?![\w$])/y;

class SyntaxProblem {
  constructor(
    readonly offset: number,
    readonly problem: string,
  ) {}
}

/** Checks the syntax of JSON. Rejects deep nesting and duplicate names, although `JSON.parse` accepts both. */
class SyntaxCheck {
  #at = 0;
  #depth = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  run(): void {
    this.#value();
    this.#skip();
    if (this.#at < this.#text.length) throw new SyntaxProblem(this.#at, 'expected nothing more');
  }

  #read(token: RegExp): boolean {
    token.lastIndex = this.#at;
    const found = token.test(this.#text);
    if (found) this.#at = token.lastIndex;
    return found;
  }

  #skip(): void {
    this.#read(SPACE);
  }

  #take(character: string): boolean {
    this.#skip();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #expected(what: string): SyntaxProblem {
    const isInside = this.#at < this.#text.length;
    return new SyntaxProblem(this.#at, isInside ? `expected ${what}` : `the text ends where ${what} is expected`);
  }

  /** A single regular expression would overflow the stack on strings of several megabytes, so two loops are used. */
  #string(): void {
    const start = this.#at++;
    do this.#read(PLAIN);
    while (this.#read(ESCAPE));
    if (this.#text[this.#at] !== '"') {
      throw new SyntaxProblem(start, 'a string is not closed, or contains a character that must be escaped');
    }
    this.#at++;
  }

  #members(close: string, member: () => void): void {
    if (++this.#depth > MAX_DEPTH) {
      throw new SyntaxProblem(this.#at - 1, `there are more than ${MAX_DEPTH} levels of objects and arrays`);
    }
    if (!this.#take(close)) {
      do {
        this.#skip();
        if (this.#text[this.#at] === close) throw new SyntaxProblem(this.#at, `there is a comma before "${close}"`);
        member();
      } while (this.#take(','));
      if (!this.#take(close)) throw this.#expected(`"," or "${close}"`);
    }
    this.#depth--;
  }

  #object(): void {
    const names = new Set<string>();
    this.#members('}', () => {
      const start = this.#at;
      if (this.#text[start] !== '"') throw this.#expected('a name in double quotes');
      this.#string();
      const written = this.#text.slice(start, this.#at);
      const name = JSON.parse(written) as string;
      if (names.has(name)) throw new SyntaxProblem(start, `the name ${written} is repeated in this object`);
      names.add(name);
      if (!this.#take(':')) throw this.#expected('":"');
      this.#value();
    });
  }

  #value(): void {
    if (this.#take('{')) this.#object();
    else if (this.#take('[')) this.#members(']', () => this.#value());
    else if (this.#text[this.#at] === '"') this.#string();
    else if (!this.#read(WORD) && !this.#read(NUMBER)) throw this.#expected('a value');
  }
}

export const findJsonError = (text: string): JsonError | undefined => {
  try {
    new SyntaxCheck(text).run();
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const lines = text.slice(0, error.offset).split('\n');
    return { line: lines.length, column: lines.at(-1)!.length + 1, problem: error.problem };
  }
};

export const formatJsonError = ({ line, column, problem }: JsonError): string =>
  `line ${line}, column ${column}: ${problem}`;

/** Removes the byte order mark that some Windows editors add. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');
