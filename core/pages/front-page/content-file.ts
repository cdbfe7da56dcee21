import type { Mount, MountContext } from '../../contracts/plugin.js';
import { ApiError, errors } from '../../errors.js';
import type { Representation } from '../../response/representation.js';
import type { Content, ContentReader } from './content.js';

interface ContentFile extends Pick<Mount, 'path' | 'summary'> {
  readonly cacheControl: string;
  /** @throws ApiError if the service does not have the file */
  build(context: MountContext, content: Content): Representation;
}

export const contentFile = (readContent: ContentReader, { path, summary, cacheControl, build }: ContentFile): Mount => {
  let latest: { readonly version: string; readonly file: Representation } | undefined;
  return {
    path,
    summary,
    async handler(ctx, context) {
      // This mount also receives requests for paths below the file, such as `/robots.txt/a`.
      if (ctx.path !== path) throw new ApiError(errors.route_not_found);
      const content = await readContent(context);
      const { version } = content;
      if (latest?.version !== version) latest = { version, file: build(context, content) };
      ctx.set('Cache-Control', cacheControl);
      ctx.body = latest.file;
    },
  };
};
