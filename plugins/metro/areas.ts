/**
 * Metropolitan areas of the United States and their divisions. The codes and titles in `areas.json` follow the July
 * 2023 delineation by the Office of Management and Budget. The centres are the internal points from the 2025 Gazetteer,
 * in degrees. The Census Bureau publishes both sources.
 */
import { compareScalars } from 'metro-forecast-api/adapter';
import table from './areas.json' with { type: 'json' };

export interface MetroArea {
  readonly cbsa: string;
  readonly name: string;
  readonly kind: 'metropolitan' | 'division';
  /** The postal codes of the area's states, in the order of the title. */
  readonly states: readonly string[];
  /** The code of the metropolitan area to which a division belongs; null if the area is not a division. */
  readonly parent: string | null;
  /** The codes of a metropolitan area's divisions. */
  readonly divisions: readonly string[];
  /** Latitude and longitude of the centre, in degrees. A division has the centre of its parent. */
  readonly latitude: number;
  readonly longitude: number;
}

/** Returns the postal codes in a title, such as NY and NJ for "New York-Newark-Jersey City, NY-NJ". */
export const statesOf = (name: string): string[] => /, ([A-Z]{2}(?:-[A-Z]{2})*)/.exec(name)?.[1]?.split('-') ?? [];

const metropolitan: MetroArea[] = table.metropolitan.map(({ cbsa, name, latitude, longitude }) => ({
  cbsa,
  name,
  kind: 'metropolitan',
  states: statesOf(name),
  parent: null,
  divisions: table.divisions.filter(({ parent }) => parent === cbsa).map((division) => division.cbsa),
  latitude,
  longitude,
}));

const parents = new Map(metropolitan.map((area) => [area.cbsa, area]));

const divisions: MetroArea[] = table.divisions.map(({ cbsa, name, parent }) => {
  const { latitude, longitude } = parents.get(parent)!;
  return { cbsa, name, kind: 'division', states: statesOf(name), parent, divisions: [], latitude, longitude };
});

/** All areas by code, in the order of their codes. */
export const metroAreas: ReadonlyMap<string, MetroArea> = new Map(
  [...metropolitan, ...divisions].sort((a, b) => compareScalars(a.cbsa, b.cbsa)).map((area) => [area.cbsa, area]),
);
