import type { FrontPageContent, FrontPageContext, InnerResponse, MountContext } from '../../contracts/plugin.js';
import { LruMap } from '../../util/lru-map.js';
import { type Catalog, readCatalog } from '../descriptions/datasets.js';

export interface Status {
  readonly status: string;
  readonly generated_at: string;
  readonly snapshot: { readonly published_at: string; readonly synthetic: boolean } | null;
  readonly sources: readonly {
    readonly id: string;
    readonly state: string;
    readonly latest_period: string | null;
    readonly age_seconds: number | null;
    readonly late_after_seconds: number;
  }[];
}

export interface Content {
  readonly version: string;
  readonly catalog: Catalog;
  readonly status: Status | undefined;
  readonly pages: readonly FrontPageContent[];
}

/**
 * The content is cached for this time in milliseconds. Then the front page reads `/status` again. If a plugin failed,
 * the front page also calls the plugins again.
 */
const KEPT_MS = 60_000;

/** Returns undefined if the endpoint requires a key or does not exist. */
const readOpen = async ({ requestWithoutKey }: MountContext, target: string): Promise<InnerResponse | undefined> => {
  const response = await requestWithoutKey(target);
  if (response.status === 200) return response;
  if ([401, 403, 404].includes(response.status)) return undefined;
  throw new Error(`${target} responded with ${response.status}`);
};

const PAGE = 1000;

const contextOf = (context: MountContext): FrontPageContext => ({
  async get(target) {
    const response = await readOpen(context, target);
    return response && JSON.parse(response.body);
  },
  async list<Row>(target: string, most: number) {
    const rows: Row[] = [];
    let total: string | undefined;
    let next: string | undefined = `${target}${target.includes('?') ? '&' : '?'}limit=${Math.min(PAGE, most)}`;
    while (next !== undefined && rows.length < most) {
      const response = await readOpen(context, next);
      if (!response) return undefined;
      rows.push(...JSON.parse(response.body).data);
      total ??= response.headers['total-count'] as string | undefined;
      const query = /^<(\?[^>]+)>; rel="next"/.exec(String(response.headers['link'] ?? ''))?.[1];
      next = query && `${target.replace(/\?.*/, '')}${query}`;
    }
    return { rows, total: next === undefined ? rows.length : total === undefined ? undefined : Number(total) };
  },
});

/** Maximum number of cached public paths. Proxies use only a few paths. */
const MOST_PATHS = 10;

interface Contributions {
  readonly contents: readonly FrontPageContent[];
  readonly isComplete: boolean;
}

const contributionsOf = async (context: MountContext): Promise<Contributions> => {
  let isComplete = true;
  const fail = (): FrontPageContent => {
    isComplete = false;
    return {};
  };
  const contents = await Promise.all(
    context.mounts.flatMap((mount) => (mount.frontPage ? [mount.frontPage(contextOf(context)).catch(fail)] : [])),
  );
  return { contents, isComplete };
};

export type ContentReader = (context: MountContext) => Promise<Content>;

/**
 * Collects the contributions of plugins to the front page once per snapshot. If a plugin fails, all contributions are
 * collected again a minute later.
 */
export const contentReader = (): ContentReader => {
  let collected: { readonly version: string; readonly contributions: Promise<Contributions> } | undefined;
  const contents = new LruMap<string, { readonly until: number; readonly content: Promise<Content> }>(MOST_PATHS);

  const collect = (context: MountContext, version: string): Promise<Contributions> => {
    if (collected?.version !== version) collected = { version, contributions: contributionsOf(context) };
    return collected.contributions;
  };

  const read = async (context: MountContext, version: string): Promise<Content> => {
    const [catalog, status, { contents: pages, isComplete }] = await Promise.all([
      readCatalog(context),
      (contextOf(context).get('/status') as Promise<Status | undefined>).catch(() => undefined),
      collect(context, version),
    ]);
    if (!isComplete) collected = undefined;
    const states = status && [status.status, ...status.sources.map(({ state }) => state)];
    const key = [context.publicUrl, version, isComplete, states, context.anonymous?.limit];
    return { version: JSON.stringify(key), catalog, status, pages };
  };

  return (context) => {
    const { publicUrl, state } = context;
    const version = state.snapshot?.version ?? '';
    const name = `${publicUrl} ${version}`;
    const known = contents.get(name);
    if (known && known.until > state.now.getTime()) return known.content;
    const content = read(context, version);
    contents.set(name, { until: state.now.getTime() + KEPT_MS, content });
    content.catch(() => contents.set(name, { until: 0, content }));
    return content;
  };
};
