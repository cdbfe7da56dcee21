/** API keys as MongoDB documents. */

import type { KeyRecord } from 'metro-forecast-api/adapter';
import type { Document as MongoDocument } from 'mongodb';

export interface KeyDocument {
  readonly _id: string;
  readonly hash: string;
  readonly pepper?: number | null;
  readonly name: string;
  readonly tier: string;
  readonly limit_per_minute: number | null;
  readonly created_at: string | Date;
  readonly expires_at?: string | Date | null;
  readonly revoked_at?: string | Date | null;
  readonly shares_limit_of?: string | null;
  /** The server's time of the last change, by which polling finds it. */
  readonly changed_at?: Date;
}

const time = (value: string | Date | null | undefined): string | null =>
  value instanceof Date ? value.toISOString() : (value ?? null);

/** Takes dates where the documents were edited by hand, and fields left out for null. */
export const toRecord = (document: KeyDocument): KeyRecord => ({
  id: document._id,
  hash: document.hash,
  name: document.name,
  tier: document.tier,
  limit_per_minute: document.limit_per_minute ?? null,
  created_at: time(document.created_at) ?? '',
  expires_at: time(document.expires_at),
  revoked_at: time(document.revoked_at),
  ...(document.pepper ? { pepper: document.pepper } : {}),
  ...(document.shares_limit_of ? { shares_limit_of: document.shares_limit_of } : {}),
});

/** An update that sets these fields to these values, whatever they look like, and stamps the change. */
export const setting = (fields: Partial<KeyRecord>): MongoDocument[] => [
  {
    $set: {
      ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { $literal: value }])),
      changed_at: '$$NOW',
    },
  },
];
