import { expect } from 'chai';
import { definePlugin } from '../../../core/contracts/plugin.js';
import type { OperatorError } from '../../../core/errors.js';
import { request } from '../../support/http-client.js';
import { startTestApp } from '../../support/test-app.js';

const home = (name: string) =>
  definePlugin({
    name,
    version: '1.0.0',
    description: 'A home page.',
    routes: () => [],
    mounts: () => [
      {
        path: '/',
        summary: 'Home',
        handler: (ctx) => {
          ctx.body = `home of ${name}`;
        },
      },
    ],
  });

describe('a plugin that mounts /', () => {
  it('replaces the front page, and owns only this path', async () => {
    const app = await startTestApp({
      config: { plugins: ['markets', 'docs'] },
      overrides: { plugins: [{ plugin: home('mine') }] },
    });
    try {
      const { status, text } = await request(`${app.origin}/`);
      expect([status, text]).to.deep.equal([200, 'home of mine']);
      expect((await request(`${app.origin}/docs`)).status).to.equal(200);
      expect((await request(`${app.origin}/other`)).status).to.equal(404);
      expect(app.app.local.mounts.filter(({ path }) => path === '/')).to.have.length(1);
    } finally {
      await app.close();
    }
  });

  it('is an error that names both plugins if two plugins mount /', async () => {
    const error = await startTestApp({
      config: { plugins: ['markets'] },
      overrides: { plugins: [{ plugin: home('mine') }, { plugin: home('yours') }] },
    }).then(
      async (app) => app.close(),
      (thrown: OperatorError) => thrown,
    );
    expect((error as OperatorError).errors).to.deep.equal([
      'plugin "yours" 1.0.0 and plugin "mine" 1.0.0 both declare mount /',
    ]);
  });
});
