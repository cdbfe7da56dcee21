/** Damages a small dataset directory at random. A seed always produces the same damage. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { load } from '../../../adapters/json/load.js';
import type { Document } from '../../../core/contracts/dataset.js';
import { openDirectory } from '../../../core/data/directory.js';
import { indexedSnapshot } from '../../../core/data/indexed-snapshot.js';
import { checkDataset } from '../../../core/data/validate.js';
import { StorageError } from '../../../core/errors.js';
import { type Random, randomFrom } from '../../../plugins/metro/sample/random.js';
import { collections, lines, rows, writeByHand } from '../../support/weather.js';

const FILES = ['stations.ndjson', 'readings.ndjson', 'readings.ndjson', 'manifest.json'] as const;
const PIECES = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\n',
    '\r\n',
    ' ',
    '0',
    '-',
    'e5',
    '.',
    'null',
    '1e999',
    '\ufeff',
    '\ud83d',
  ],
  ...['{"a":1}', ',{}', '[]', '"low":1,', '"\\u006cow":1,', '"__proto__":{},', '}\n{', '},{'],
];

type Mutation = (text: Buffer, random: Random) => Buffer;

const below = (random: Random, length: number): number => Math.floor(random.uniform() * length);
const pick = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)]!;
const splice = (text: Buffer, from: number, to: number, put: Buffer | string): Buffer =>
  Buffer.concat([text.subarray(0, from), Buffer.from(put as string), text.subarray(to)]);
const range = (random: Random, { length }: Buffer, most: number): [number, number] => {
  const from = below(random, length + 1);
  return [from, Math.min(length, from + below(random, most + 1))];
};

const onLines =
  (change: (list: string[], random: Random) => void): Mutation =>
  (text, random) => {
    const list = text.toString('utf8').split('\n');
    change(list, random);
    return Buffer.from(list.join('\n'));
  };

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  cut: (text, random) => splice(text, ...range(random, text, 40), ''),
  truncate: (text, random) => text.subarray(0, below(random, text.length)),
  insert: (text, random) => {
    const [at] = range(random, text, 0);
    return splice(text, at, at, pick(random, PIECES));
  },
  overwrite: (text, random) => splice(text, ...range(random, text, 3), pick(random, PIECES)),
  flip: (text, random) => {
    const copy = Buffer.from(text);
    if (copy.length > 0) copy[below(random, copy.length)]! ^= 1 << below(random, 8);
    return copy;
  },
  double: (text, random) => {
    const [from, to] = range(random, text, 60);
    return splice(text, to, to, text.subarray(from, to));
  },
  move: (text, random) => {
    const [from, to] = range(random, text, 60);
    const rest = splice(text, from, to, '');
    const at = below(random, rest.length + 1);
    return splice(rest, at, at, text.subarray(from, to));
  },
  nest: (text, random) => {
    const [from, to] = range(random, text, 30);
    const levels = pick(random, [1, 2, 99, 101, 5000]);
    const [open, close] = pick(random, [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const);
    return splice(text, from, to, open.repeat(levels) + text.toString('utf8', from, to) + close.repeat(levels));
  },
  'join lines': onLines((list, random) => {
    const at = below(random, list.length);
    list.splice(at, 2, list.slice(at, at + 2).join(pick(random, ['', ',', ' '])));
  }),
  'break a line': onLines((list, random) => {
    const at = below(random, list.length);
    const places = [...list[at]!.matchAll(/,/g)].map(({ index }) => index);
    const place = places.length > 0 ? pick(random, places) : 0;
    list.splice(at, 1, list[at]!.slice(0, place), list[at]!.slice(place + below(random, 2)));
  }),
  // A reader that joined the two lines with a comma would find valid JSON.
  'break a line and join the rest': onLines((list, random) => {
    const at = below(random, list.length);
    const line = list[at]!;
    const place = line.indexOf(',', below(random, line.length + 1));
    if (place >= 0) list.splice(at, 2, line.slice(0, place), `${line.slice(place + 1)},${list[at + 1] ?? ''}`);
  }),
  'move a line': onLines((list, random) => {
    const [line] = list.splice(below(random, list.length), 1);
    list.splice(below(random, list.length + 1), 0, line!);
  }),
  'double a line': onLines((list, random) => {
    const at = below(random, list.length);
    list.splice(below(random, list.length + 1), 0, list[at]!);
  }),
};

const texts = (): Record<string, string> => ({
  'stations.ndjson': lines([...rows.stations, { id: 'west', name: 'West, by the sea, {"a": [1]}' }]),
  'readings.ndjson': lines(rows.readings),
});

const contentOf = (bytes: Buffer): unknown[] => {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  const list = text.split('\n');
  if (list.at(-1) === '') list.pop();
  return list.map((line) => JSON.parse(line));
};

const namesOf = (text: string): number => text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').split(':').length - 1;
const namesIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, each) => sum + namesIn(each), 0);
  return Array.isArray(value) ? inner : inner + Object.keys(value).length;
};

const PLACE = /\b(?:manifest\.json|[A-Za-z0-9][A-Za-z0-9._-]*)(?::\d+)?: |manifest\.json cannot be read/;

const errorsOf = async (path: string): Promise<readonly string[]> => {
  try {
    const { dataset } = await openDirectory(path);
    return (await checkDataset(dataset, collections)).lines();
  } catch (error) {
    expect(error).to.be.instanceOf(StorageError);
    return (error as Error).message.split('\n').slice(1);
  }
};

const servedFrom = async (path: string): Promise<ReadonlyMap<string, readonly Document[]> | undefined> => {
  const { loaded } = await load(path, { collections, signal: new AbortController().signal });
  if (!loaded) return undefined;
  const snapshot = indexedSnapshot({ ...loaded, publishedAt: new Date(0) }, () => {});
  const served = new Map<string, readonly Document[]>();
  for (const { name, key } of collections.values()) {
    const all: Document[] = [];
    for await (const batch of snapshot.find(name, { order: key })) all.push(...batch);
    served.set(name, all);
  }
  return served;
};

const damage = async (path: string, random: Random): Promise<string[]> => {
  await writeByHand(path, texts());
  const names = Array.from({ length: 1 + below(random, 3) }, () => pick(random, Object.keys(MUTATIONS)));
  for (const name of names) {
    const file = join(path, pick(random, FILES));
    await writeFile(file, MUTATIONS[name]!(await readFile(file), random));
  }
  return names;
};

/**
 * Damages a directory at random. If no check detects the damage, the service must serve the rows exactly as they are in
 * the files. Otherwise, each error must name the file.
 */
const check = async (path: string, seed: string): Promise<boolean> => {
  const what = `seed "${seed}": ${(await damage(path, randomFrom(seed))).join(', ')}`;
  const errors = await errorsOf(path);
  const served = await servedFrom(path);
  expect(served === undefined, what).to.equal(errors.length > 0);
  for (const error of errors) expect(error, what).to.match(PLACE);
  if (!served) return false;
  const manifest = JSON.parse((await readFile(join(path, 'manifest.json'), 'utf8')).replace(/^\ufeff/, ''));
  for (const [name, documents] of served) {
    const bytes = await readFile(join(path, manifest.collections[name].file));
    const content = contentOf(bytes);
    expect(JSON.stringify(documents), what).to.equal(JSON.stringify(content));
    expect(namesIn(content), `${what}: repeated names`).to.equal(namesOf(bytes.toString('utf8')));
  }
  return true;
};

export const checkMutations = async (count: number, seed: string): Promise<number> => {
  const folder = await mkdtemp(join(tmpdir(), 'mutations-'));
  let valid = 0;
  try {
    for (let i = 0; i < count; i++) if (await check(join(folder, 'data'), `${seed}/${i}`)) valid++;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return valid;
};

/** `MUTATION_SEED=... npm run test:long` repeats a run. */
export const mutationSeed = (): string =>
  process.env['MUTATION_SEED'] ??
  createHash('sha256').update(String(process.hrtime.bigint())).digest('hex').slice(0, 8);
