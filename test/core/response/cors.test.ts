import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { definePlugin } from '../../../core/contracts/plugin.js';
import { BROWSED, openBrowser, type TestBrowser } from '../../support/browser.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const forms = definePlugin({
  name: 'forms',
  version: '1.0.0',
  description: 'A mount that takes JSON.',
  routes: () => [],
  mounts: () => [
    {
      path: '/forms',
      summary: 'Takes JSON',
      methods: ['GET', 'PUT'],
      requestHeaders: ['X-Form'],
      exposedHeaders: ['X-Form-Version'],
      handler(ctx) {
        ctx.set('X-Form-Version', '7');
        ctx.body = 'ok';
      },
    },
    { path: '/page', summary: 'A page', handler: (ctx) => (ctx.body = 'ok') },
  ],
});

const TOOLS = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

describe('a preflight', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp({
      config: { server: BROWSED, plugins: ['markets', 'mcp'] },
      overrides: { plugins: [{ plugin: forms }] },
    });
  });
  after(() => service.close());

  const preflight = async (path: string) => {
    const { status, headers } = await request(`${service.origin}${path}`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://example.com', 'Access-Control-Request-Method': 'POST' },
    });
    const list = (name: string) => String(headers[name]).toLowerCase().split(', ');
    return {
      status,
      methods: String(headers['access-control-allow-methods']),
      headers: list('access-control-allow-headers'),
      exposed: list('access-control-expose-headers'),
    };
  };

  it('to /mcp allows JSON, a key and the headers of the protocol', async () => {
    const { status, methods, headers } = await preflight('/mcp');
    expect([status, methods]).to.deep.equal([204, 'POST, OPTIONS']);
    expect(headers).to.include.members(['authorization', 'content-type', 'accept', 'mcp-protocol-version']);
    expect(headers).to.include.members(['mcp-session-id', 'mcp-method', 'mcp-name', 'last-event-id']);
  });

  it('to a mount that takes a body allows Content-Type and the headers that the mount declares', async () => {
    const { methods, headers } = await preflight('/forms');
    expect(methods).to.equal('GET, PUT, OPTIONS');
    expect(headers).to.include.members(['content-type', 'x-form', 'authorization']);
  });

  it('to an endpoint that takes no body allows neither Content-Type nor other headers', async () => {
    for (const path of ['/api/v1/markets', '/page']) {
      const { headers } = await preflight(path);
      expect(headers, path).to.include.members(['authorization', 'if-none-match']);
      expect(headers, path).to.not.include.members(['content-type']);
      expect(headers, path).to.not.include.members(['x-form']);
    }
  });

  it('names the response headers that mounts expose', async () => {
    expect((await preflight('/forms')).exposed).to.include.members(['x-form-version', 'etag', 'ratelimit']);
  });

  it('rejects a mount with an invalid header name at startup', async () => {
    const plugin = definePlugin({
      ...forms,
      mounts: () => [{ path: '/a', summary: 'A', requestHeaders: ['X Y'], handler: () => undefined }],
    });
    const started = startTestApp({ overrides: { plugins: [{ plugin }] } });
    const error = await started.then(
      async (app) => void (await app.close()),
      (reason: Error) => reason,
    );
    expect(String(error)).to.contain('requestHeaders: "X Y" is not a header name');
  });

  describe('in a browser', () => {
    let pages: Server;
    let browser: TestBrowser;
    before(async function () {
      pages = createServer((_request, response) => {
        response.setHeader('Content-Type', 'text/html').end('<!doctype html><link rel="icon" href="data:,">');
      }).listen(0, '127.0.0.1');
      await once(pages, 'listening');
      const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
      browser = await openBrowser(this, { origin });
      await browser.page.goto(origin);
    });
    after(async () => {
      await browser?.close();
      pages.close();
      pages.closeAllConnections();
    });

    it('lets a page of another origin list the tools of /mcp, and call a mount with its headers', async () => {
      const results = await browser.page.evaluate(
        async ([origin, key, body]) => {
          const json = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
          const mcp = await fetch(`${origin}/mcp`, {
            method: 'POST',
            headers: { ...json, Accept: 'application/json, text/event-stream', 'Mcp-Protocol-Version': '2025-06-18' },
            body: body!,
          });
          const form = await fetch(`${origin}/forms`, {
            method: 'PUT',
            headers: { ...json, 'X-Form': '1' },
            body: '{}',
          });
          return [mcp.status, (await mcp.text()).includes('list_markets'), form.headers.get('X-Form-Version')];
        },
        [service.origin, service.key, TOOLS] as const,
      );
      expect(results).to.deep.equal([200, true, '7']);
    });
  });
});
