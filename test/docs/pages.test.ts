import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect } from 'chai';
import { createProgram } from '../../cli/main.js';
import { tooManyRows } from '../../core/routes/selection.js';
import { packageRoot } from '../../core/util/package.js';
import { referencePages } from '../../tools/reference-pages.js';
import { runProcess } from '../support/command-process.js';
import { snippetsOf } from '../support/snippets.js';

const MAX_README_LINES = 120;
const MAX_WORDS = 2000;

const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8');

const docs = readdirSync(join(packageRoot, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
  .sort();
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...docs];

const wordsOf = (text: string): number => {
  const prose = text
    .replace(/```[\s\S]*?```/g, '')
    .replace(/<!-- figures [\s\S]*?<!-- \/figures -->/g, '')
    .replace(/\]\([^)]*\)/g, ']');
  return prose.match(/\p{L}[\p{L}\p{N}'’-]*/gu)?.length ?? 0;
};

const anchorsOf = (text: string): string[] =>
  [...text.replace(/```[\s\S]*?```/g, '').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s-]/gu, '')
      .replaceAll(' ', '-'),
  );

const linksOf = (page: string): string[] =>
  [
    ...read(page)
      .replace(/```[\s\S]*?```/g, '')
      .matchAll(/\]\(([^)\s]+)[^)]*\)/g),
  ]
    .map(([, target]) => target!)
    .filter((target) => !/^(https?:|mailto:|\?)/.test(target));

describe('the documentation', () => {
  it(`README.md has at most ${MAX_README_LINES} lines`, () => {
    expect(read('README.md').trimEnd().split('\n').length).to.be.at.most(MAX_README_LINES);
  });

  it(`no page has more than ${MAX_WORDS} words`, () => {
    expect(docs.length).to.be.above(30);
    for (const page of docs) expect(wordsOf(read(page)), page).to.be.at.most(MAX_WORDS);
  });

  it('each page says who it is for', () => {
    for (const page of docs.filter((name) => name !== 'docs/README.md')) {
      const [paragraph] = /^(?!#|<!--|\n).+/m.exec(read(page)) ?? [''];
      expect(paragraph, page).to.match(/^(For|This (page|guide|tutorial) is for) /);
    }
  });

  it('is listed completely in docs/README.md', () => {
    const listed = linksOf('docs/README.md').map((target) => posix.join('docs', target));
    expect([...listed, 'docs/README.md'].sort()).to.include.members(
      docs.filter((page) => !/modules|cli-data/.test(page)),
    );
  });

  it('links only to files and headings that exist', () => {
    const broken = pages.flatMap((page) =>
      linksOf(page)
        .filter((target) => {
          const [path = '', anchor] = target.split('#');
          const file = path === '' ? page : posix.join(posix.dirname(page), path);
          if (!existsSync(join(packageRoot, file))) return true;
          return anchor !== undefined && file.endsWith('.md') && !anchorsOf(read(file)).includes(anchor);
        })
        .map((target) => `${page}: ${target}`),
    );
    expect(broken.join('\n')).to.equal('');
  });

  it('names only commands that exist', async () => {
    const names = (await createProgram()).commands.map((command) => command.name());
    for (const page of pages) {
      for (const { language, code } of snippetsOf(page).filter((each) => /^(sh|text)$/.test(each.language))) {
        for (const [, name] of code.matchAll(/^(?:npx )?metro-forecast (?:(?:-c|--config) \S+ )?([a-z][a-z-]*)/gm)) {
          expect(names, `${page}: ${language} block`).to.include(name);
        }
      }
    }
  });

  it('has up-to-date generated pages (`npm run generate` writes them)', async () => {
    for (const [path, text] of await referencePages()) expect(read(path) === text, path).to.equal(true);
  });

  it('has the types that `metro-forecast types` prints in plugins/metro/client/api-types.ts', async () => {
    const isCurrent = read('plugins/metro/client/api-types.ts') === (await runProcess(['types'], {}));
    expect(isCurrent, '`npm run generate` writes them').to.equal(true);
  });

  it('lists the errors of totals', () => {
    expect(read('docs/reference/errors.md')).to.include(`| \`${tooManyRows.code}\` |`);
  });
});
