import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { request } from './http-client.js';
import { startTestApp, type TestApp } from './test-app.js';

export const LABEL_PROBLEMS = `[...document.querySelectorAll('.plot > svg')].flatMap((plot) => {
        const frame = plot.getBoundingClientRect();
        const labels = [...plot.querySelectorAll('text')].map((text) => ({ is: text.textContent, at: text.getBoundingClientRect() }));
        const outside = labels.filter(({ at }) => at.left < frame.left - 0.5 || at.right > frame.right + 0.5 || at.bottom > frame.bottom + 0.5);
        const over = labels.filter((a, i) => labels.some((b, j) => j > i && a.at.left < b.at.right && b.at.left < a.at.right && a.at.top + 2 < b.at.bottom && b.at.top + 2 < a.at.bottom));
        return [...outside, ...over].map(({ is }) => is);
      })`;

export const LAYOUT_PROBLEMS = `(() => {
        const parts = [...document.querySelectorAll(':is(header, main, footer) :is(h1, h2, p, a, button, label, summary, select, input, output, legend, dt, dd, li)')]
          .filter((each) => each.checkVisibility({ opacityProperty: true }) && !each.closest('.scroll, svg, .values, #found, .hidden-text, nav ul, .each-year'))
          .filter((each) => getComputedStyle(each).clipPath === 'none' && each.textContent + (each.value ?? '') !== '')
          .map((each) => ({ each, at: each.getBoundingClientRect() }));
        const name = ({ each }) => each.tagName + ' ' + (each.textContent.trim() || each.id).slice(0, 40);
        const cut = parts.filter(({ at }) => at.left < -0.5 || at.right > innerWidth + 0.5).map(name);
        const over = parts.flatMap((a, i) => parts.slice(i + 1)
          .filter((b) => !a.each.contains(b.each) && !b.each.contains(a.each))
          .filter((b) => a.at.left + 2 < b.at.right && b.at.left + 2 < a.at.right && a.at.top + 2 < b.at.bottom && b.at.top + 2 < a.at.bottom)
          .map((b) => name(a) + ' covers ' + name(b)));
        const unhinted = [...document.querySelectorAll('.scroll')]
          .filter((each) => each.scrollWidth > each.clientWidth && !getComputedStyle(each).backgroundImage.includes('gradient'))
          .map((each) => 'no hint: ' + each.getAttribute('aria-label'));
        return [...cut, ...over, ...unhinted];
      })()`;

const CSS = '/core/pages/shared/page.css';

export const describePageFiles = (path: string, plugin: string, plugins: readonly string[]): void => {
  describe(`the files of ${path}`, () => {
    let app: TestApp;
    let page: string;
    const get = (target: string, headers = {}) => request(`${app.origin}${target}`, { headers });
    /** Returns the path of the folder with the page's files. The path contains a digest of the files. */
    const root = () => page.slice(page.indexOf(`${path}/v-`)).slice(0, `${path}/v-012345678901`.length);

    before(async () => {
      app = await startTestApp({ config: { plugins: [...plugins, plugin], server: { port: 0, basePath: '/api/v9' } } });
      page = (await get(path)).text;
    });
    after(() => app.close());

    it(`GET ${path} needs no key and contains the API's base path`, async () => {
      const { status, headers } = await get(path);
      expect([status, headers['content-type']]).to.deep.equal([200, 'text/html; charset=utf-8']);
      expect(page).to.contain('<meta name="base-path" content="/api/v9">').and.not.contain('{{');
      expect((await get(`${path}/`)).text).to.equal(page);
      expect((await get(`${path}?from=mail`)).text).to.equal(page);
    });

    it('sends a policy that allows only its own files with pages and errors, and nothing with files', async () => {
      for (const target of [path, `${path}/nothing.js`]) {
        const policy = String((await get(target)).headers['content-security-policy']);
        expect(policy.split('; '), target).to.include.members([
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "connect-src 'self'",
          "frame-ancestors 'none'",
          "require-trusted-types-for 'script'",
        ]);
        expect(policy).not.to.match(/unsafe|https?:|\*/);
      }
      for (const target of [`${root()}${CSS}`, `${path}${CSS}`]) {
        const policy = (await get(target)).headers['content-security-policy'];
        expect(policy, target).to.equal("default-src 'none'; frame-ancestors 'none'");
      }
      expect(page).not.to.match(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
    });

    it('serves every file that the page and its modules refer to', async () => {
      const named = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, target]) => target!);
      const files = named.filter((target) => target.startsWith(root()));
      expect(files).to.have.length.above(3);
      for (const target of files) {
        const { status, text, headers } = await get(target);
        expect(status, target).to.equal(200);
        expect(headers['cache-control'], target).to.contain('immutable');
        expect(headers['content-type'], target).to.match(
          { js: /^text\/javascript/, css: /^text\/css/, svg: /^image\/svg/, md: /^text\/markdown/ }[
            target.split('.').at(-1)!
          ]!,
        );
        for (const [, module] of text.matchAll(/^(?:import .*|\}) from '([^']+)'/gm)) {
          // Every module must be preloaded, so that the browser loads all modules in parallel.
          expect(named, `${module} in ${target}`).to.include(new URL(module!, `${app.origin}${target}`).pathname);
        }
      }
    });

    it('does not allow caches to keep the page, or files of another release', async () => {
      for (const target of [path, `${path}${CSS}`, `${path}/v-abcdefghijkl${CSS}`]) {
        const { status, headers } = await get(target);
        expect([status, headers['cache-control']], target).to.deep.equal([200, 'no-cache']);
      }
    });

    it('responds with 304 to the ETag of a file in any encoding, and with 200 to another ETag', async () => {
      const target = `${path}${CSS}`;
      const first = await get(target);
      expect(first.headers['cache-control']).to.equal('no-cache');
      const tag = String(first.headers.etag);
      expect(tag).to.match(/^"[^"]+"$/);
      const second = await get(target, { 'If-None-Match': tag });
      expect([second.status, second.text, second.headers.etag]).to.deep.equal([304, '', tag]);
      expect(second.headers['content-length']).to.equal(undefined);
      expect((await get(target, { 'If-None-Match': '"other"' })).status).to.equal(200);
      const gzip = await get(target, { 'Accept-Encoding': 'gzip' });
      expect(gunzipSync(gzip.bytes).toString()).to.equal(first.text);
      const br = await get(target, { 'Accept-Encoding': 'br' });
      expect(brotliDecompressSync(br.bytes).toString()).to.equal(first.text);
      expect(new Set([tag, gzip.headers.etag, br.headers.etag]).size).to.equal(3);
    });

    it('does not compress if compression is turned off', async () => {
      const plain = await startTestApp({ config: { plugins: [...plugins, plugin], http: { compression: false } } });
      try {
        const headers = { 'Accept-Encoding': 'br, gzip' };
        const got = await request(`${plain.origin}${path}${CSS}`, { headers });
        expect([got.status, got.headers['content-encoding']]).to.deep.equal([200, undefined]);
        expect(got.text).to.equal((await get(`${path}${CSS}`)).text);
      } finally {
        await plain.close();
      }
    });

    it(`HEAD ${path} has the headers of GET`, async () => {
      const { date: _, 'x-request-id': __, ratelimit: ___, ...got } = (await get(path)).headers;
      const head = await request(`${app.origin}${path}`, { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([200, '']);
      expect(head.headers).to.include(got);
    });

    it('responds with 404 to other paths under the page', async () => {
      const version = root().slice(path.length + 1);
      const names = [
        'nothing.js',
        'core/pages/shared/page.css/',
        '../package.json',
        '%2e%2e/index.ts',
        '__proto__',
        'index.ts',
      ];
      for (const name of [
        ...names,
        'core/pages/template.ts',
        'core/pages/shared',
        'core/pages/guides/index.html',
        `${version}/`,
      ]) {
        const { status, json } = await get(`${path}/${name}`);
        expect([status, json.code], name).to.deep.equal([404, 'route_not_found']);
      }
    });

    it('responds with 405 to other methods', async () => {
      const { status, headers } = await request(`${app.origin}${path}`, { method: 'POST' });
      expect([status, headers.allow]).to.deep.equal([405, 'GET, HEAD, OPTIONS']);
    });
  });
};
