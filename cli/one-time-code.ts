/** Signs in one browser with the demo key, so that the key never appears in a URL, a log or the browser history. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { definePlugin } from '../core/contracts/plugin.js';
import { ApiError, errors } from '../core/errors.js';
import { packageVersion } from '../core/util/package.js';

const VALID_MS = 10 * 60_000;

/** The code is sent in a header, because proxies log paths, and CORS keeps other origins from setting headers. */
const HEADER = 'one-time-code';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The code works once, and only in the process that created it. Another worker would reject the code. */
export const oneTimeCode = (validMs = VALID_MS) => {
  let issued: { readonly hash: Buffer; readonly key: string; readonly until: number } | undefined;

  const redeem = (code: string): string => {
    const { hash, key, until } = issued ?? {};
    const isValid = hash && performance.now() < until! && timingSafeEqual(hash, digest(code));
    if (!isValid) throw new ApiError(errors.invalid_api_key, 'This code has been used, has expired or is wrong.');
    issued = undefined;
    return key!;
  };

  return {
    issue(key: string): string {
      const code = randomBytes(24).toString('base64url');
      issued = { hash: digest(code), key, until: performance.now() + validMs };
      return code;
    },
    plugin: definePlugin({
      name: 'one-time-code',
      version: packageVersion,
      description: 'Exchanges the code in the link that "start" prints for the demo key.',
      routes: () => [],
      mounts: () => [
        {
          path: '/one-time-code',
          summary: 'Sign in with a one-time code',
          methods: ['POST'],
          handler(ctx) {
            ctx.set('Cache-Control', 'no-store');
            const site = ctx.get('sec-fetch-site');
            if (site !== '' && site !== 'same-origin') throw new ApiError(errors.invalid_api_key);
            ctx.body = { key: redeem(ctx.get(HEADER)) };
          },
        },
      ],
    }),
  };
};
