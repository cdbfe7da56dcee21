import type { MountContext } from '../../contracts/plugin.js';

type Info = MountContext['info'];

export const descriptionOf = ({ description, summary, title }: Info): string => description || summary || title;

export const publisherName = ({ contact, title }: Info): string => contact.name ?? title;

export const licenceUrl = ({ license }: Info): string | undefined =>
  license?.url ?? (license?.identifier && `https://spdx.org/licenses/${license.identifier}.html`);
