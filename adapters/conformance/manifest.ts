import type { Manifest } from 'metro-forecast-api/adapter';
import { TOKENS } from './tokens.js';

type Source = Manifest['sources'][number];

/** All fields of the manifest have different values, to catch adapters that derive one field from another. */
export const manifestOf = (version: string, created: string): Manifest => ({
  format: 1,
  version,
  created,
  vintage: '2023-11-15',
  synthetic: true,
  sources: [
    {
      id: 'suite',
      title: 'The conformance suite – été',
      cadence: 'daily',
      latest_period: '2023-11-14',
      last_loaded_at: '2023-11-15T06:07:08.009Z',
      late_after_seconds: 86_400,
      stale_after_seconds: 172_800,
      attribution: 'Source: "the suite", 2023',
    },
    {
      id: 'another',
      title: 'A',
      cadence: 'quarterly',
      latest_period: null,
      last_loaded_at: null,
      late_after_seconds: 0,
      stale_after_seconds: 0,
      attribution: null,
    },
    {
      id: 'a third',
      title: 'B',
      cadence: 'annual',
      latest_period: null,
      last_loaded_at: null,
      late_after_seconds: 1,
      stale_after_seconds: 2,
    },
  ],
});

const isoSource: Source = {
  id: 'SUITE',
  title: 'Été',
  cadence: 'five-year',
  latest_period: '2024-02-29',
  last_loaded_at: '1969-12-31T23:59:59Z',
  late_after_seconds: 61,
  stale_after_seconds: 3601,
};

/**
 * Manifests with dates, numbers and missing fields. Some stores convert or omit such values, or keep the values of
 * another version.
 */
const VARIANTS: readonly Partial<Manifest>[] = [
  {},
  { sources: [], synthetic: false },
  { vintage: '1969-12-31', sources: [isoSource] },
  {
    vintage: '2024-02-29',
    synthetic: false,
    sources: [
      { ...isoSource, attribution: '' },
      { ...isoSource, id: 'SUITE2' },
    ],
  },
];

export const variedManifest = (version: string, created: string, which: number): Manifest => ({
  ...manifestOf(version, created),
  ...VARIANTS[which % VARIANTS.length],
});

/** Sources with strings and numbers that some stores shorten, trim, convert or normalize. */
export const oddSources: readonly Source[] = [
  '😀 𐀀',
  ' a ',
  'e\u0301',
  '\u00e9',
  'x'.repeat(5000),
  '01001',
  '2024-01-31',
  '\u2028',
  '%41',
  'null',
  ...TOKENS,
].map((text, i) => ({
  ...manifestOf('texts', '2031-07-03T00:00:00Z').sources[0]!,
  id: `${text}${i}`,
  cadence: (['weekly', 'biweekly', 'monthly', 'semiannual', 'five-year', 'irregular'] as const)[i % 6]!,
  title: text,
  attribution: i === 0 ? '' : text,
  stale_after_seconds: 2 ** 31 + i,
  late_after_seconds: i,
  last_loaded_at: i % 2 ? '2023-11-15T06:07:08Z' : '2023-11-15T06:07:08.50Z',
}));

export const manySources: readonly Source[] = Array.from({ length: 300 }, (_, i) => ({
  ...oddSources[i % oddSources.length]!,
  id: `source-${i}`,
}));
