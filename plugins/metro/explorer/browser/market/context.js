import { day } from '../../../../../core/pages/shared/format.js';
import { creditOf } from '../catalog.js';

/** @import { ForecastTrack as Track, Series } from '../../../client/api-types.js' */

/**
 * @typedef {{ market: { cbsa: string, name: string }, history: import('../market-figures.js').Observation[], track: Track[],
 *   newest: Track | undefined, series: Series | undefined,
 *   signal: AbortSignal, query: URLSearchParams }} Context
 */

/** @param {Context} context */
export const publishersOf = ({ series, newest }) => [series?.source, newest && `forecasts by ${newest.model_version}`];

/** @param {Context} context */
export const creditsOf = ({ series, newest }) => [
  [
    series && creditOf(series),
    newest?.vintage && `vintage of ${newest.vintage}`,
    newest && `forecast: ${newest.model_version}, run of ${day(newest.run_at)}, ${newest.basis}`,
  ]
    .filter(Boolean)
    .join('; '),
  ...(series?.notes ? [series.notes] : []),
  location.href,
];
