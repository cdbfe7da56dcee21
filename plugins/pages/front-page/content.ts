/** Collects what the pages contribute to the front page, once per snapshot, and the state of the service. */
import type {
  FrontPageContent,
  FrontPageContext,
  InnerResponse,
  MountContext,
} from '../../../core/contracts/plugin.js';
import { type Catalog, readCatalog } from '../descriptions/datasets.js';

/** The response of `/status`, if the service has that endpoint. */
export interface Status {
  readonly status: string;
  readonly snapshot: { readonly published_at: string; readonly synthetic: boolean } | null;
  readonly sources: readonly {
    readonly id: string;
    readonly state: string;
    readonly latest_period: string | null;
  }[];
}

export interface Content {
  /** Changes when the content does. */
  readonly version: string;
  readonly catalog: Catalog;
  readonly status: Status | undefined;
  readonly pages: readonly FrontPageContent[];
}

/** How long the state of the service and failed contributions are kept, in milliseconds. */
const KEPT_MS = 60_000;

const isAllowed = (status: number): boolean => ![401, 403, 404].includes(status);

/** Requests an endpoint as a caller without a key. Undefined if such callers may not use it. */
const readOpen = async ({ requestWithoutKey }: MountContext, target: string): Promise<InnerResponse | undefined> => {
  const response = await requestWithoutKey(target);
  if (isAllowed(response.status) && response.status !== 200) {
    throw new Error(`${target} responded with ${response.status}`);
  }
  return response.status === 200 ? response : undefined;
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

/** Returns a function that resolves with the current content. */
export const contentReader = (): ((context: MountContext) => Promise<Content>) => {
  let pages: { readonly of: string; readonly contents: Promise<readonly FrontPageContent[]> } | undefined;
  let isComplete = true;
  let latest: { readonly until: number; readonly of: string; readonly content: Promise<Content> } | undefined;

  const contributed = (context: MountContext, of: string): Promise<readonly FrontPageContent[]> => {
    if (pages?.of === of && isComplete) return pages.contents;
    isComplete = true;
    const contents = Promise.all(
      context.mounts.flatMap((mount) =>
        mount.frontPage
          ? [
              mount.frontPage(contextOf(context)).catch((): FrontPageContent => {
                isComplete = false;
                return {};
              }),
            ]
          : [],
      ),
    );
    pages = { of, contents };
    return contents;
  };

  const read = async (context: MountContext, of: string): Promise<Content> => {
    const [catalog, status, contents] = await Promise.all([
      readCatalog(context),
      (contextOf(context).get('/status') as Promise<Status | undefined>).catch(() => undefined),
      contributed(context, of),
    ]);
    const { status: overall, sources = [] } = status ?? {};
    return {
      version: JSON.stringify([of, isComplete, overall, sources.map(({ state }) => state), context.anonymous?.limit]),
      catalog,
      status,
      pages: contents,
    };
  };

  return (context) => {
    const now = context.state.now.getTime();
    const of = `${context.publicUrl} ${context.state.snapshot?.version}`;
    if (latest?.of !== of || latest.until < now) latest = { of, until: now + KEPT_MS, content: read(context, of) };
    return latest.content;
  };
};
