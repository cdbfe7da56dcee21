import type { Format } from '../contracts/format.js';
import { isObject } from '../validation/json.js';
import { type Members, memberErrors } from './check-members.js';
import type { LoadedPlugin, Registration } from './registration.js';

const FORMAT: Members = {
  name: 'string',
  mediaTypes: 'list',
  description: 'string',
  isCompressed: 'boolean?',
  write: 'function',
};
const NAME = /^[a-z][a-z0-9-]*$/;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9.+-]*\/[a-z0-9][a-z0-9.+-]*(;|$)/;

export const essenceOf = (mediaType: string): string => mediaType.split(';')[0]!;

/** The formats of the framework come first, so that JSON is the default. */
export const collectFormats = (entries: readonly LoadedPlugin[], registration: Registration): readonly Format[] => {
  const ordered = [...entries].sort((a, b) => Number(b.isDefault ?? false) - Number(a.isDefault ?? false));
  return ordered.flatMap((entry) => {
    const { plugin, options } = entry;
    return registration
      .listOf(entry, 'formats', () => plugin.formats?.(options))
      .filter((format) => {
        const errors = formatErrors(format);
        registration.report(plugin, errors, `format "${format?.name}": `);
        if (errors.length > 0) return false;
        registration.claim(plugin, `format "${format.name}"`);
        for (const mediaType of format.mediaTypes) registration.claim(plugin, `media type "${essenceOf(mediaType)}"`);
        return true;
      });
  });
};

const formatErrors = (format: Format): string[] => {
  if (!isObject(format)) return ['must be an object with name, mediaTypes, description and write'];
  const found = memberErrors(format as unknown as Readonly<Record<string, unknown>>, FORMAT);
  if (found.length > 0) return found;
  return [
    ...(NAME.test(format.name) ? [] : ['name must consist of lower-case letters, digits and hyphens']),
    ...(format.mediaTypes.length > 0 ? [] : ['mediaTypes is empty']),
    ...format.mediaTypes
      .filter((mediaType) => !MEDIA_TYPE.test(mediaType))
      .map((mediaType) => `mediaTypes: ${JSON.stringify(mediaType)} must look like application/vnd.example`),
  ];
};
