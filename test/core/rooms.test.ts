/** The folders of core, and its two files outside them, know each other in one direction only. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';

type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** `redis/connection.ts` is in the room `redis`, `errors.ts` in a room of its own. */
const roomOf = (file: string): string => file.split('/')[0]!;

const importsOfRooms = (root: string): Imports => {
  const rooms = new Map<string, Set<string>>();
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const file of files) {
    for (const [, path] of readFileSync(join(root, file), 'utf8').matchAll(
      /\b(?:from|import)\b\s*\(?'(\.[^']+)\.js'/g,
    )) {
      const other = roomOf(`${normalize(join(dirname(file), path!))}.ts`);
      if (other !== roomOf(file)) rooms.set(roomOf(file), (rooms.get(roomOf(file)) ?? new Set()).add(other));
    }
  }
  return rooms;
};

/** A way from a room back to itself, or undefined. */
const circleIn = (imports: Imports): string[] | undefined => {
  const done = new Set<string>();
  const follow = (room: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(room)) return [...way.slice(way.indexOf(room)), room];
    if (done.has(room)) return undefined;
    for (const other of imports.get(room) ?? []) {
      const found = follow(other, [...way, room]);
      if (found) return found;
    }
    done.add(room);
    return undefined;
  };
  for (const room of imports.keys()) {
    const found = follow(room, []);
    if (found) return found;
  }
  return undefined;
};

describe('rooms of core', () => {
  const imports = importsOfRooms(join(packageRoot, 'core'));

  it('import each other without a circle', () => {
    expect(circleIn(imports)).to.equal(undefined);
  });

  it('would show a circle', () => {
    expect(circleIn(new Map([...imports, ['contracts', new Set(['http'])]]))).to.include.members(['contracts', 'http']);
  });

  it('rest on the contracts, which know the table of errors alone', () => {
    expect([...imports.get('contracts')!]).to.deep.equal(['errors.ts']);
  });
});
