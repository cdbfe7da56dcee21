/**
 * Metropolitan areas of the United States and their divisions. The codes and titles in `areas.json` follow the
 * delineation of July 2023 by the Office of Management and Budget. Centres are the internal points of the Gazetteer of
 * 2025, in degrees. The Census Bureau publishes both.
 */
import { compareScalars } from 'metro-forecast-api/adapter';
import table from './areas.json' with { type: 'json' };

export interface MetroArea {
  readonly cbsa: string;
  readonly name: string;
  readonly kind: 'metropolitan' | 'division';
  /** Postal codes, in the sequence of the title. */
  readonly states: readonly string[];
  /** The metropolitan area that a division is part of. */
  readonly parent: string | null;
  /** Divisions of a metropolitan area, by code. */
  readonly divisions: readonly string[];
  /** Latitude and longitude of the centre, in degrees. A division has the centre of its parent. */
  readonly latitude: number;
  readonly longitude: number;
}

/** Postal codes of a title: NY and NJ of "New York-Newark-Jersey City, NY-NJ". */
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

/** Every area by its code, in the order of the codes. */
export const metroAreas: ReadonlyMap<string, MetroArea> = new Map(
  [...metropolitan, ...divisions].sort((a, b) => compareScalars(a.cbsa, b.cbsa)).map((area) => [area.cbsa, area]),
);
