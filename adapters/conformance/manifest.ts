import type { Manifest } from 'metro-forecast-api/adapter';

/** All fields have different values, to catch adapters that derive one field from another. */
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
