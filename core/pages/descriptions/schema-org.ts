/**
 * Describes the service in JSON-LD. The document is both a schema.org Dataset for search engines and a Croissant 1.0
 * dataset for machine-learning tools.
 */
import type { MountContext } from '../../contracts/plugin.js';
import type { Content } from '../front-page/content.js';
import type { Column, Dataset } from './datasets.js';
import { descriptionOf, licenceUrl, publisherName } from './service-facts.js';

const CONTEXT = {
  '@language': 'en',
  '@vocab': 'https://schema.org/',
  sc: 'https://schema.org/',
  cr: 'http://mlcommons.org/croissant/',
  rai: 'http://mlcommons.org/croissant/RAI/',
  dct: 'http://purl.org/dc/terms/',
  citeAs: 'cr:citeAs',
  column: 'cr:column',
  conformsTo: 'dct:conformsTo',
  data: { '@id': 'cr:data', '@type': '@json' },
  dataType: { '@id': 'cr:dataType', '@type': '@vocab' },
  examples: { '@id': 'cr:examples', '@type': '@json' },
  extract: 'cr:extract',
  field: 'cr:field',
  fileProperty: 'cr:fileProperty',
  fileObject: 'cr:fileObject',
  fileSet: 'cr:fileSet',
  format: 'cr:format',
  includes: 'cr:includes',
  isLiveDataset: 'cr:isLiveDataset',
  jsonPath: 'cr:jsonPath',
  key: 'cr:key',
  md5: 'cr:md5',
  parentField: 'cr:parentField',
  path: 'cr:path',
  recordSet: 'cr:recordSet',
  references: 'cr:references',
  regex: 'cr:regex',
  repeated: 'cr:repeated',
  replace: 'cr:replace',
  separator: 'cr:separator',
  source: 'cr:source',
  subField: 'cr:subField',
  transform: 'cr:transform',
};

const TYPES: Readonly<Record<Column['type'], string>> = {
  string: 'sc:Text',
  date: 'sc:Date',
  datetime: 'sc:DateTime',
  integer: 'sc:Integer',
  number: 'sc:Float',
  boolean: 'sc:Boolean',
  json: 'sc:Text',
};

const fileOf = ({ name, title, distributions }: Dataset) =>
  distributions
    .filter(({ format }) => format === 'csv' || format === 'parquet')
    .map(({ format, mediaType, url }) => ({
      '@type': 'cr:FileObject',
      '@id': `${name}.${format}`,
      name: `${name}.${format}`,
      description: title,
      contentUrl: url,
      encodingFormat: mediaType,
    }));

const described = ({ title, description, unit }: Column): string =>
  [description === '' ? `${title}.` : description, ...(unit === undefined ? [] : [`Unit: ${unit}.`])].join(' ');

const recordSetOf = ({ name, title, columns, key }: Dataset) => ({
  '@type': 'cr:RecordSet',
  '@id': name,
  name,
  description: title,
  ...(key.length > 0 && { key: key.map((column) => ({ '@id': `${name}/${column}` })) }),
  field: columns.map((column) => ({
    '@type': 'cr:Field',
    '@id': `${name}/${column.name}`,
    name: `${name}/${column.name}`,
    description: described(column),
    dataType: TYPES[column.type],
    source: { fileObject: { '@id': `${name}.csv` }, extract: { column: column.name } },
  })),
});

const variablesOf = (datasets: readonly Dataset[]) => {
  const columns = new Map(datasets.flatMap((dataset) => dataset.columns.map((column) => [column.name, column])));
  return [...columns.values()]
    .filter(({ type }) => type === 'number' || type === 'integer')
    .map(({ name, title, unit }) => ({
      '@type': 'PropertyValue',
      name,
      description: title,
      ...(unit !== undefined && { unitText: unit }),
    }));
};

const publisherOf = (info: MountContext['info']) => {
  const { url, email } = info.contact;
  return {
    '@type': 'Organization',
    name: publisherName(info),
    ...(url !== undefined && { url }),
    ...(email !== undefined && { email }),
  };
};

export const dataCatalog = ({ info, publicUrl, state }: MountContext, { catalog: { datasets } }: Content) => {
  const manifest = state.snapshot?.manifest;
  const licence = licenceUrl(info);
  const published = state.snapshot?.publishedAt.toISOString().slice(0, 10);
  const publisher = publisherOf(info);
  return {
    '@context': CONTEXT,
    '@type': 'sc:Dataset',
    '@id': `${publicUrl}/`,
    conformsTo: 'http://mlcommons.org/croissant/1.0',
    name: info.title,
    description: descriptionOf(info),
    url: `${publicUrl}/`,
    version: info.version,
    ...(licence !== undefined && { license: licence }),
    ...(published !== undefined && { datePublished: published, dateModified: published }),
    creator: publisher,
    publisher,
    isAccessibleForFree: datasets.some(({ isOpen }) => isOpen),
    isLiveDataset: true,
    citeAs: `${info.title}${manifest ? `, version ${manifest.version}` : ''}. ${publicUrl}/`,
    keywords: datasets.map(({ title }) => title),
    variableMeasured: variablesOf(datasets),
    ...(manifest && { isBasedOn: manifest.sources.map(({ title }) => ({ '@type': 'CreativeWork', name: title })) }),
    distribution: datasets.flatMap(fileOf),
    recordSet: datasets.map(recordSetOf),
  };
};
