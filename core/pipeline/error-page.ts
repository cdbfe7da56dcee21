/** Formats errors as web pages for browsers. Below the base path, errors are always JSON. */
import { createHash } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { type ApiError, errors } from '../errors.js';
import type { Page } from '../response/error-response.js';
import { READ_METHODS } from '../response/headers.js';
import { mediaTypeChooser } from '../response/representation.js';
import { escapeHtml } from '../util/escape-html.js';

export interface ErrorPageOptions {
  readonly publicPathFor: (request: IncomingMessage) => string;
  readonly basePath: string;
  readonly info: { readonly title: string };
  readonly mounts: readonly { readonly path: string }[];
}

/** Returns undefined if the client gets JSON. */
export type ErrorPage = (request: IncomingMessage) => Page | undefined;

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 40rem; padding: 15vh 1.5rem 3rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
p { margin: 0 0 1rem; }
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

const textOf = ({ kind, message }: ApiError): string =>
  // The default message of `route_not_found` mentions the API, which does not fit on a web page.
  kind === errors.route_not_found && message === kind.sentence ? 'There is no page at this address.' : message;

const reasonOf = (status: number): string => {
  const reason = STATUS_CODES[status] ?? 'Error';
  return reason.charAt(0) + reason.slice(1).toLowerCase();
};

export const errorPage = ({ publicPathFor, basePath, info, mounts }: ErrorPageOptions): ErrorPage => {
  const title = escapeHtml(info.title);
  const hasFrontPage = mounts.some(({ path }) => path === '/');
  const isApi = (path: string): boolean => path === basePath || path.startsWith(`${basePath}/`);
  return (request) => {
    const { method = '', url = '', headers } = request;
    if (!READ_METHODS.includes(method) || isApi(url.split('?')[0]!) || choose(headers.accept) !== HTML) return;
    const home = `<p><a href="${escapeHtml(publicPathFor(request))}/">Go to the front page of ${title}</a></p>\n`;
    return (error) => {
      const reason = reasonOf(error.kind.status);
      return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${reason} – ${title}</title>
<style>${STYLE}</style>
<main>
<h1>${reason}</h1>
<p>${escapeHtml(textOf(error))}</p>
${hasFrontPage ? home : ''}</main>
</html>
`;
    };
  };
};
