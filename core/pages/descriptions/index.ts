import type { Mount, MountContext } from '../../contracts/plugin.js';
import { Representation } from '../../response/representation.js';
import type { Content, ContentReader } from '../front-page/content.js';
import { contentFile } from '../front-page/content-file.js';
import { dataPackage } from './data-package.js';
import { dcatCatalog } from './dcat.js';
import { dataCatalog } from './schema-org.js';
import { llmsText, robotsText, sitemap } from './texts.js';

type Describe = (context: MountContext, content: Content) => string;

const json =
  (describe: (context: MountContext, content: Content) => object): Describe =>
  (context, content) =>
    JSON.stringify(describe(context, content), null, 2);

const DESCRIPTIONS: readonly (readonly [path: string, summary: string, mediaType: string, describe: Describe])[] = [
  ['/dataset.jsonld', 'Data description (schema.org, Croissant)', 'application/ld+json', json(dataCatalog)],
  ['/dcat.jsonld', 'Data description (DCAT)', 'application/ld+json', json(dcatCatalog)],
  ['/datapackage.json', 'Data description (Data Package)', 'application/json', json(dataPackage)],
  ['/llms.txt', 'Service description for language models', 'text/plain; charset=utf-8', llmsText],
  ['/robots.txt', 'Rules for crawlers', 'text/plain; charset=utf-8', robotsText],
  ['/sitemap.xml', 'Sitemap', 'application/xml; charset=utf-8', sitemap],
];

export const descriptionMounts = (readContent: ContentReader): Mount[] =>
  DESCRIPTIONS.map(([path, summary, mediaType, describe]) =>
    contentFile(readContent, {
      path,
      summary,
      cacheControl: 'no-cache',
      build(context, content) {
        const text = `${describe(context, content)}\n`;
        return new Representation(Buffer.from(text), mediaType, { lastModified: context.state.now, head: '' });
      },
    }),
  );
