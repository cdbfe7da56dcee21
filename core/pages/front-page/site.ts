import type { FrontPageFigure, Mount, MountContext } from '../../contracts/plugin.js';
import type { Content } from './content.js';
import { html, type Markup } from './markup.js';

export interface Site extends MountContext {
  readonly content: Content;
}

const MOST_FINDINGS = 3;

export const figureOf = ({ pages }: Content): FrontPageFigure | undefined => pages.find(({ figure }) => figure)?.figure;

export const partsOf = ({ content }: Site) => ({
  findings: content.pages.flatMap(({ findings = [] }) => findings).slice(0, MOST_FINDINGS),
  figure: figureOf(content),
  items: content.pages.flatMap(({ items = [] }) => items),
  about: content.pages.flatMap(({ about = [] }) => about),
  search: content.pages.find(({ search }) => search)?.search,
  views: content.pages.flatMap(({ views = [] }) => views),
});

export const mountAt = ({ mounts }: Site, path: string): Mount | undefined =>
  mounts.find((mount) => mount.path === path);

/** Undefined if no page shows the status. */
export const statusHref = (site: Site): string | undefined => {
  const page = mountAt(site, '/explore') ?? mountAt(site, '/tables');
  return page && `${page.path}#/status`;
};

export const link = ({ publicPath }: Site, href: string, text: Markup | string): Markup =>
  html`<a href="${publicPath}${href}">${text}</a>`;

export const keySource = ({ info: { getKeyUrl, contact } }: Site): string | undefined =>
  getKeyUrl ?? contact.url ?? (contact.email === undefined ? undefined : `mailto:${contact.email}`);

export const count = (value: number): string => value.toLocaleString('en-US');
