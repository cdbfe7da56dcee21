/**
 * Source: Census Bureau. Codes and titles are from the July 2023 delineation, centres of metropolitan areas from the
 * 2025 Gazetteer, and centres of states from the outlines in `us-atlas`.
 */
import { compareScalars } from 'metro-forecast-api/adapter';
import table from './areas.json' with { type: 'json' };

export const AREA_KINDS = ['metropolitan', 'division', 'state', 'nation'] as const;
export type AreaKind = (typeof AREA_KINDS)[number];

export const METRO_KINDS: readonly AreaKind[] = ['metropolitan', 'division'];

export interface Area {
  /** A CBSA code (10000 or higher), `000` followed by a state's FIPS code, or `00000` for the nation. */
  readonly cbsa: string;
  readonly name: string;
  readonly kind: AreaKind;
  /** Postal codes of the states, in the order of the area's title. Empty for the nation. */
  readonly states: readonly string[];
  /** Code of the metropolitan area that contains a division. Null for other areas. */
  readonly parent: string | null;
  readonly divisions: readonly string[];
  /** Centre in degrees. A division uses the centre of its metropolitan area. */
  readonly latitude: number;
  readonly longitude: number;
}

const postalCodesIn = (name: string): string[] => /, ([A-Z]{2}(?:-[A-Z]{2})*)/.exec(name)?.[1]?.split('-') ?? [];

const metropolitan: Area[] = table.metropolitan.map(({ cbsa, name, latitude, longitude }) => ({
  cbsa,
  name,
  kind: 'metropolitan',
  states: postalCodesIn(name),
  parent: null,
  divisions: table.divisions.filter(({ parent }) => parent === cbsa).map((division) => division.cbsa),
  latitude,
  longitude,
}));

const parents = new Map(metropolitan.map((area) => [area.cbsa, area]));

const divisions: Area[] = table.divisions.map(({ cbsa, name, parent }) => {
  const { latitude, longitude } = parents.get(parent)!;
  return { cbsa, name, kind: 'division', states: postalCodesIn(name), parent, divisions: [], latitude, longitude };
});

const byCode = (areas: readonly Area[]): ReadonlyMap<string, Area> =>
  new Map(areas.toSorted((a, b) => compareScalars(a.cbsa, b.cbsa)).map((area) => [area.cbsa, area]));

export const metroAreas = byCode([...metropolitan, ...divisions]);

/** Geographic centre of the 50 states, according to the National Geodetic Survey. */
const NATION: Area = {
  cbsa: '00000',
  name: 'United States',
  kind: 'nation',
  states: [],
  parent: null,
  divisions: [],
  latitude: 44.967,
  longitude: -103.772,
};

export const nationAndStates = byCode([
  NATION,
  ...table.states.map(
    ({ fips, postal, name, latitude, longitude }): Area => ({
      cbsa: `000${fips}`,
      name,
      kind: 'state',
      states: [postal],
      parent: null,
      divisions: [],
      latitude,
      longitude,
    }),
  ),
]);

export const areaOf = (cbsa: string): Area | undefined => metroAreas.get(cbsa) ?? nationAndStates.get(cbsa);

/** Older datasets contain codes that are no longer in use. These codes count as metropolitan areas. */
export const kindOf = (cbsa: string): AreaKind => areaOf(cbsa)?.kind ?? 'metropolitan';

export const statesOf = ({ cbsa, name }: { readonly cbsa: string; readonly name: string }): readonly string[] =>
  nationAndStates.get(cbsa)?.states ?? postalCodesIn(name);

const areasBySeries = new Map<string, Area>(
  [...nationAndStates.values()].map((area) => [`${area.states[0] ?? 'US'}STHPI`, area]),
);
const seriesByCode = new Map([...areasBySeries].map(([id, { cbsa }]) => [cbsa, id]));

/** Returns the id of the house price index of a state or the nation, such as `TXSTHPI` for Texas. */
export const seriesOfArea = (cbsa: string): string | undefined => seriesByCode.get(cbsa);

export const areaOfSeries = (id: string): Area | undefined => areasBySeries.get(id);
