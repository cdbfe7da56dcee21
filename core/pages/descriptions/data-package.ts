import type { MountContext } from '../../contracts/plugin.js';
import type { Content } from '../front-page/content.js';
import type { Column, Dataset } from './datasets.js';
import { descriptionOf, licenceUrl, publisherName } from './service-facts.js';

const TYPES: Partial<Record<Column['type'], string>> = { json: 'any' };

const fieldOf = ({ name, title, description, type, unit, values, isRequired }: Column) => ({
  name,
  type: TYPES[type] ?? type,
  title,
  ...(description !== '' && { description }),
  ...(unit !== undefined && { unit }),
  constraints: { ...(isRequired && { required: true }), ...(values.length > 0 && { enum: values }) },
});

const resourceOf = ({ name, title, description, columns, key, distributions }: Dataset) => ({
  name: name.toLowerCase(),
  title,
  description,
  path: distributions[0]!.url,
  format: 'csv',
  mediatype: 'text/csv',
  encoding: 'utf-8',
  profile: 'tabular-data-resource',
  schema: { fields: columns.map(fieldOf), ...(key.length > 0 && { primaryKey: key }), missingValues: [''] },
});

export const dataPackage = ({ info, publicUrl, state }: MountContext, { catalog: { datasets } }: Content) => {
  const snapshot = state.snapshot;
  const { license, contact } = info;
  const path = licenceUrl(info);
  return {
    profile: 'tabular-data-package',
    name: info.name,
    title: info.title,
    description: descriptionOf(info),
    homepage: `${publicUrl}/`,
    version: snapshot?.version ?? info.version,
    ...(snapshot && { created: snapshot.publishedAt.toISOString() }),
    ...(license && {
      licenses: [
        { name: license.identifier ?? license.name, title: license.name, ...(path !== undefined && { path }) },
      ],
    }),
    contributors: [
      {
        title: publisherName(info),
        role: 'publisher',
        ...(contact.url !== undefined && { path: contact.url }),
        ...(contact.email !== undefined && { email: contact.email }),
      },
    ],
    ...(snapshot?.manifest.sources.length && { sources: snapshot.manifest.sources.map(({ title }) => ({ title })) }),
    resources: datasets.map(resourceOf),
  };
};
