import { countiesByArea } from './outlines.js';

export interface ZipCode {
  readonly zip: string;
  readonly county_fips: string | null;
}

/**
 * Reads GeoNames' tab-separated file of postal codes.
 * @param state postal code of the state
 * @param fips FIPS code of the state, which the county codes in the file omit
 */
export const geoNamesZipCodes = (text: string, state: string, fips: string): ZipCode[] =>
  text
    .split('\n')
    .map((line) => line.split('\t'))
    .flatMap(([, zip = '', , , code, , county = '']) => (code === state ? [{ zip, county_fips: fips + county }] : []));

/** Formats ZIP codes as the first code and the differences between consecutive codes. */
const stepsOf = (zips: readonly string[]): string =>
  zips
    .map(Number)
    .map((zip, index, all) => zip - (all[index - 1] ?? 0))
    .join(' ');

export const zipCodesByArea = (rows: readonly ZipCode[]): Record<string, string> => {
  const areaOfCounty = new Map([...countiesByArea].flatMap(([cbsa, counties]) => counties.map((code) => [code, cbsa])));
  const zipsByArea = new Map<string, string[]>([...countiesByArea.keys()].map((cbsa) => [cbsa, []]));
  for (const { zip, county_fips: county } of rows) zipsByArea.get(areaOfCounty.get(county ?? '') ?? '')?.push(zip);
  const entries = [...zipsByArea].filter(([, zips]) => zips.length > 0);
  return Object.fromEntries(entries.map(([cbsa, zips]) => [cbsa, stepsOf(zips.sort())]));
};
