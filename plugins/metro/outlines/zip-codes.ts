/** Joins ZIP codes to metros by their counties. */
import { countiesByArea } from './outlines.js';

export interface ZipCode {
  readonly zip: string;
  readonly county_fips: string | null;
}

/** Formats ascending ZIP codes as the first code, followed by the difference between each code and the previous one. */
const stepsOf = (zips: readonly string[]): string =>
  zips
    .map(Number)
    .map((zip, index, all) => zip - (all[index - 1] ?? 0))
    .join(' ');

/** Returns the ZIP codes by area. A metro with divisions is represented by its divisions. */
export const zipCodesByArea = (rows: readonly ZipCode[]): Record<string, string> => {
  const areaOfCounty = new Map([...countiesByArea].flatMap(([cbsa, counties]) => counties.map((code) => [code, cbsa])));
  const zipsByArea = new Map<string, string[]>([...countiesByArea.keys()].map((cbsa) => [cbsa, []]));
  for (const { zip, county_fips: county } of rows) zipsByArea.get(areaOfCounty.get(county ?? '') ?? '')?.push(zip);
  const entries = [...zipsByArea].filter(([, zips]) => zips.length > 0);
  return Object.fromEntries(entries.map(([cbsa, zips]) => [cbsa, stepsOf(zips.sort())]));
};
