import { guidePage } from 'metro-forecast-api/plugin';

export const methodologyPage = () =>
  guidePage('/docs/methodology', 'Methodology', 'explanation/methodology.md', {
    folder: new URL('./browser/methodology/', import.meta.url),
    at: 'metro/explorer/browser/methodology',
    name: 'main.js',
  });
