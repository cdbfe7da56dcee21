import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { expect } from 'chai';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { packageRoot } from '../../core/util/package.js';
import { installPacked, packed } from '../support/packed.js';

const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));

describe('the package', () => {
  let folder: string;
  let files: ReadonlySet<string>;
  before(async function () {
    this.timeout(60_000);
    folder = await mkdtemp(join(tmpdir(), 'package-'));
    await installPacked(folder);
    files = new Set((await packed()).files);
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const inside = (path: string) => join(folder, 'node_modules/metro-forecast-api', path);

  it('passes publint', async () => {
    const { messages } = await publint({ pkgDir: inside(''), strict: true, pack: false });
    // publint also checks the templates of `metro-forecast new`, because they contain a package.json.
    const texts = messages.map((message) => String(formatMessage(message, manifest, { color: false })));
    expect(texts.filter((text) => !text.startsWith('./cli/templates/'))).to.deep.equal([]);
  });

  it('has types for every module resolution except the oldest', async function () {
    this.timeout(60_000);
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array((await packed()).tarball)));
    const problems = result.types === false ? ['it has no types'] : result.problems;
    // CommonJS packages load this package with `require`. Node supports this for ES modules since 20.19.
    const accepted = (problem: (typeof problems)[number]) =>
      typeof problem === 'object' &&
      (problem.kind === 'CJSResolvesToESM' || ('resolutionKind' in problem && problem.resolutionKind === 'node10'));
    expect(problems.filter((problem) => !accepted(problem))).to.deep.equal([]);
  });

  it('contains the pages that its README and its guides link to', () => {
    const broken = [...files]
      .filter((file) => file === 'README.md' || /^docs\/[^/]+\.md$/.test(file))
      .flatMap((page) =>
        [...readFileSync(inside(page), 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
          .map(([, target]) => target!)
          .filter((target) => !/^https?:/.test(target))
          .map((target) => normalize(join(dirname(page), target)))
          .filter((target) => !existsSync(inside(target)))
          .map((target) => `${page}: ${target}`),
      );
    expect(broken).to.deep.equal([]);
  });

  it('has a source for each module and each source map', () => {
    const modules = [...files].filter((file) => /^dist\/.*\.js$/.test(file));
    expect(modules.length).to.be.greaterThan(200);
    const stale = modules.filter((file) => !existsSync(join(packageRoot, file.slice(5).replace(/\.js$/, '.ts'))));
    expect(stale).to.deep.equal([]);
    const dead = [...files]
      .filter((file) => file.endsWith('.map'))
      .filter((file) => JSON.parse(readFileSync(inside(file), 'utf8')).sourcesContent?.[0] === undefined);
    expect(dead).to.deep.equal([]);
  });

  it('is rebuilt before it is packed', () => {
    expect(manifest.scripts.prepack).to.match(/clean.*build/);
  });

  it('has the metadata that registries search', () =>
    expect(manifest.keywords).to.include.members(['openapi', 'koa', 'dataset']));
});
