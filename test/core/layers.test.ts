import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';

/** Folders and files in `core/`, from top to bottom. A layer can import only the layers below it. */
const LAYERS = [
  // The code in these folders assembles an application.
  'app',
  'observe',
  'openapi',
  // The code in these folders handles requests.
  'routes',
  'edge',
  'pipeline',
  'pages',
  'response',
  // These folders load plugins, data and keys, and count requests.
  'registry',
  'keys',
  'audit',
  'data',
  'limiter',
  'cache',
  'config',
  'redis',
  // These folders and files know nothing about the service.
  'validation',
  'util',
  'contracts',
  'errors.ts',
  'header-table.ts',
] as const;

const root = join(packageRoot, 'core');

interface Import {
  readonly from: string;
  readonly to: string;
}

const layerOf = (file: string): string => file.split('/')[0]!;

const importsIn = (folder: string): Import[] => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return files.flatMap((from) => {
    const found = readFileSync(join(folder, from), 'utf8').matchAll(/\b(?:from|import)\b\s*\(?'(\.[^']+)\.js'/g);
    return [...found].map(([, path]) => ({ from, to: `${normalize(join(dirname(from), path!))}.ts` }));
  });
};

const upward = (imports: readonly Import[], layers: readonly string[]): string[] =>
  imports
    .filter(({ from, to }) => layerOf(from) !== layerOf(to) && !to.startsWith('../'))
    .filter(({ from, to }) => layers.indexOf(layerOf(to)) <= layers.indexOf(layerOf(from)))
    .map(({ from, to }) => `${from} imports ${to}`);

describe('layers of core', () => {
  const imports = importsIn(root);

  it('are all listed', () => {
    const found = readdirSync(root).filter((name) => !name.startsWith('.'));
    expect(found.sort()).to.deep.equal([...LAYERS].sort());
  });

  it('import from lower layers only', () => {
    expect(imports.length).to.be.above(100);
    expect(upward(imports, LAYERS)).to.deep.equal([]);
  });

  it('are checked: an import from a higher layer is reported', () => {
    const wrong = { from: 'response/writer.ts', to: 'pipeline/api-koa.ts' };
    expect(upward([...imports, wrong], LAYERS)).to.deep.equal(['response/writer.ts imports pipeline/api-koa.ts']);
  });
});
