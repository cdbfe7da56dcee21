/** Formats errors as web pages for browsers. Below the base path, errors are always JSON. */
import { createHash } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Tiers } from '../config/tiers.js';
import type { Mount } from '../contracts/plugin.js';
import { type ApiError, errors } from '../errors.js';
import { pagesOf, SIGN_IN } from '../pages/pages.js';
import type { Page } from '../response/error-response.js';
import { READ_METHODS } from '../response/headers.js';
import { mediaTypeChooser } from '../response/representation.js';
import { escapeHtml } from '../util/escape-html.js';

export interface ErrorPageOptions {
  readonly publicPathFor: (request: IncomingMessage) => string;
  readonly basePath: string;
  readonly info: { readonly title: string };
  readonly mounts: readonly Pick<Mount, 'path' | 'summary' | 'page'>[];
  readonly settings: { readonly tiers: Pick<Tiers, 'anonymous'> };
}

/** Returns undefined if the client gets JSON. */
export type ErrorPage = (request: IncomingMessage) => Page | undefined;

/**
 * The style is inline, because a request for a style sheet might fail too. It repeats a few rules and colours of
 * `core/pages/shared/`, so that error pages stay small.
 */
const STYLE = `
:root {
  color-scheme: light dark;
  --text: light-dark(#18202b, #e4e9f0); --muted: light-dark(#566171, #a3afbe);
  --line: light-dark(#d5dbe3, #323c49); --accent: light-dark(#14599c, #7db7f0);
}
body { background: light-dark(#fff, #11161d); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; margin: 0; }
header, main { padding: .75rem max(1rem, (100% - 80rem) / 2); }
header { border-bottom: 1px solid var(--line); font-weight: 650; }
main { padding-block: 15vh 3rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; }
p { color: var(--muted); margin: 0 0 1.5rem; max-width: 46rem; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;

export const errorPagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HTML = { mediaTypes: ['text/html'] } as const;
const choose = mediaTypeChooser([{ mediaTypes: ['application/json'] }, HTML]);

/** The default messages are for programs, so web pages show different messages for some errors. */
const textOf = ({ kind, message, options }: ApiError): string => {
  if (kind === errors.route_not_found && message === kind.sentence) return 'There is no page at this address.';
  const seconds = options.headers?.['Retry-After'];
  const wait = seconds === undefined ? 'in a few seconds' : `in ${seconds === '1' ? 'a second' : `${seconds} seconds`}`;
  return message.replace('after the number of seconds in Retry-After', wait);
};

const reasonOf = (status: number): string => {
  const reason = STATUS_CODES[status] ?? 'Error';
  return reason.charAt(0) + reason.slice(1).toLowerCase();
};

/** Links to the front page, to all pages except guides, and to the sign-in page if callers need a key. */
const linksOf = ({ mounts, settings }: ErrorPageOptions, publicPath: string): string => {
  const at = (path: string) => mounts.filter((mount) => mount.path === path);
  const linked = [
    ...at('/').map(({ path }) => ({ path, summary: 'Front page' })),
    ...pagesOf({ mounts }).pages.filter(({ path }) => path !== '/'),
    ...(settings.tiers.anonymous ? [] : at(SIGN_IN)),
  ];
  const links = linked.map(
    ({ path, summary }) => `<a href="${escapeHtml(publicPath + path)}">${escapeHtml(summary)}</a>\n`,
  );
  return links.length > 0 ? `<nav aria-label="Pages">\n${links.join('')}</nav>\n` : '';
};

export const errorPage = (options: ErrorPageOptions): ErrorPage => {
  const { publicPathFor, basePath, info } = options;
  const title = escapeHtml(info.title);
  const isApi = (path: string): boolean => path === basePath || path.startsWith(`${basePath}/`);
  return (request) => {
    const { method = '', url = '', headers } = request;
    if (!READ_METHODS.includes(method) || isApi(url.split('?')[0]!) || choose(headers.accept) !== HTML) return;
    const publicPath = publicPathFor(request);
    return (error) => {
      const reason = reasonOf(error.kind.status);
      return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${reason} – ${title}</title>
<style>${STYLE}</style>
<header>${title}</header>
<main>
<h1>${reason}</h1>
<p>${escapeHtml(textOf(error))}</p>
${linksOf(options, publicPath)}</main>
</html>
`;
    };
  };
};
