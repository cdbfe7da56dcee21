import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { definePlugin } from '../../../core/contracts/plugin.js';
import { pageMount } from '../../../core/pages/page-mount.js';
import { BROWSED, openBrowser } from '../../support/browser.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const HTML = `<!doctype html>
<html lang="en">
  <head>
    {{head}}
    <title>{{title}}</title>
    {{preloads}}
    <script type="module" src="./main.js"></script>
  </head>
  <body><main id="main"></main><a href="{{mount}}">{{color}}</a></body>
</html>
`;
const MAIN = `import { find } from '../../core/pages/shared/dom.js';
import { text } from './parts/text.js';

find('#main').replaceChildren(text(new URL('./parts/data.json', import.meta.url).pathname));
`;
const TEXT = `import {
  h,
} from '../../../core/pages/shared/dom.js';

export const text = (words) => h('p', { id: 'made' }, words);
`;

describe('pageMount(page)', () => {
  let folder: string;
  let app: TestApp | undefined;
  /** Browser code is not compiled, so this folder does not exist. `pageMount` must find the source folder instead. */
  const url = () => pathToFileURL(`${join(folder, 'dist', 'mine', 'browser')}/`);
  const mount = () =>
    pageMount({ path: '/mine', summary: 'Mine', folder: url(), at: 'mine/browser', values: { color: '<red>' } });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'metro-forecast-page-'));
    await mkdir(join(folder, 'dist'));
    await mkdir(join(folder, 'mine', 'browser', 'parts'), { recursive: true });
    for (const [name, text] of [
      ['index.html', HTML],
      ['main.js', MAIN],
      ['parts/text.js', TEXT],
      ['parts/data.json', '[1]'],
    ] as const) {
      await writeFile(join(folder, 'mine', 'browser', name), text);
    }
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  const start = async () => {
    const plugin = definePlugin({
      name: 'mine',
      version: '1.0.0',
      description: 'A page.',
      routes: () => [],
      mounts: () => [mount()],
    });
    app = await startTestApp({
      config: { plugins: ['status'], server: BROWSED },
      overrides: { plugins: [{ plugin }] },
    });
    return app.origin;
  };

  it('serves a folder outside the package whose scripts import shared modules by relative paths', async function () {
    const origin = await start();
    const { page, complaints, close } = await openBrowser(this, { origin });
    try {
      await page.goto(`${origin}/mine`);
      const made = await page.locator('#made').innerText();
      expect(made).to.match(/^\/mine\/v-[\w-]{12}\/mine\/browser\/parts\/data\.json$/);
      expect((await request(`${origin}${made}`)).text).to.equal('[1]');
      expect(complaints).to.deep.equal([]);
    } finally {
      await close();
    }
  });

  it('preloads exactly the modules that the scripts import, and escapes values', async () => {
    const { text } = await request(`${await start()}/mine`);
    const preloads = [...text.matchAll(/modulepreload" href="\/mine\/v-[\w-]{12}\/([^"]+)"/g)].map(([, name]) => name);
    expect(preloads).to.have.members(['core/pages/shared/dom.js', 'mine/browser/parts/text.js']);
    expect(text).to.contain('<a href="/mine">&lt;red&gt;</a>');
  });

  it('changes the URL of every file when one file changes', async () => {
    const rootOf = async () => /\/mine\/v-[\w-]{12}/.exec((await request(`${await start()}/mine`)).text)?.[0];
    const before = await rootOf();
    await app?.close();
    await writeFile(join(folder, 'mine', 'browser', 'parts', 'data.json'), '[2]');
    expect(await rootOf())
      .to.match(/v-/)
      .and.not.equal(before);
  });

  for (const [name, text, message] of [
    ['main.js', "import './nothing.js';\n", 'mine/browser/main.js imports ./nothing.js'],
    ['main.js', "export { a } from '../../other/a.js';\n", 'mine/browser/main.js imports ../../other/a.js'],
    ['index.html', '<img src="./nothing.svg">', 'mine/browser/index.html refers to mine/browser/nothing.svg'],
  ] as const) {
    it(`throws for ${text.trim()}`, async () => {
      await writeFile(join(folder, 'mine', 'browser', name), text);
      expect(mount).to.throw(message);
    });
  }
});
