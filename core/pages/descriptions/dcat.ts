import type { MountContext } from '../../contracts/plugin.js';
import type { Content } from '../front-page/content.js';
import type { Dataset } from './datasets.js';
import { descriptionOf, licenceUrl, publisherName } from './service-facts.js';

const CONTEXT = {
  dcat: 'http://www.w3.org/ns/dcat#',
  dcterms: 'http://purl.org/dc/terms/',
  foaf: 'http://xmlns.com/foaf/0.1/',
  vcard: 'http://www.w3.org/2006/vcard/ns#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
};

const MEDIA_TYPES = 'https://www.iana.org/assignments/media-types/';

const iri = (address: string) => ({ '@id': address });

export const dcatCatalog = (context: MountContext, { catalog: { datasets } }: Content) => {
  const { info, publicUrl, basePath, state } = context;
  const licence = licenceUrl(info);
  const rights = licence === undefined ? {} : { 'dcterms:license': iri(licence) };
  const published = state.snapshot && {
    'dcterms:modified': { '@value': state.snapshot.publishedAt.toISOString(), '@type': 'xsd:dateTime' },
  };
  const publisher = { '@type': 'foaf:Agent', 'foaf:name': publisherName(info) };
  const datasetOf = ({ path, title, description, columns, distributions }: Dataset) => ({
    '@type': 'dcat:Dataset',
    '@id': `${publicUrl}${basePath}${path}`,
    'dcterms:title': title,
    'dcterms:description': description,
    'dcat:keyword': columns.map(({ title }) => title),
    'dcterms:publisher': publisher,
    ...published,
    ...rights,
    'dcat:distribution': distributions.map(({ format, mediaType, url }) => ({
      '@type': 'dcat:Distribution',
      'dcterms:title': format.toUpperCase(),
      'dcat:mediaType': iri(`${MEDIA_TYPES}${mediaType}`),
      'dcat:accessURL': iri(url),
      'dcat:downloadURL': iri(url),
      ...rights,
    })),
  });
  return {
    '@context': CONTEXT,
    '@type': 'dcat:Catalog',
    '@id': `${publicUrl}/`,
    'dcterms:title': info.title,
    'dcterms:description': descriptionOf(info),
    'dcterms:publisher': publisher,
    'foaf:homepage': iri(`${publicUrl}/`),
    ...published,
    ...rights,
    'dcat:service': {
      '@type': 'dcat:DataService',
      'dcterms:title': info.title,
      'dcat:endpointURL': iri(`${publicUrl}${basePath}`),
      'dcat:endpointDescription': iri(`${publicUrl}${basePath}/openapi.json`),
    },
    'dcat:dataset': datasets.map(datasetOf),
  };
};
