/**
 * Builds the outline of each area as an SVG path, by merging the outlines of its counties. The outlines of the counties
 * are from `us-atlas`. They are the Census Bureau's cartographic boundary files of 2017, in the Albers USA projection
 * on 975 by 610 pixels.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { geoAlbersUsa, geoPath } from 'd3-geo';
import type { Feature, MultiPolygon, Position } from 'geojson';
import { merge, mesh } from 'topojson-client';
import { presimplify, simplify } from 'topojson-simplify';
import type { GeometryCollection, MultiPolygon as Outline, Polygon, Topology } from 'topojson-specification';
import { metroAreas } from '../areas.js';
import counties from './counties.json' with { type: 'json' };

type Atlas = Topology<{ counties: GeometryCollection; states: GeometryCollection; nation: GeometryCollection }>;

export interface Outlines {
  readonly size: readonly [width: number, height: number];
  readonly land: string;
  readonly states: string;
  /** For each CBSA code: an outline, which can be empty, and a point inside the area. */
  readonly areas: Readonly<Record<string, readonly [outline: string, x: number, y: number]>>;
}

const SIZE = [975, 610] as const;
const STEPS = 5;
/**
 * A point is removed if the triangle with its two neighbours is smaller than this area, in square pixels of `us-atlas`.
 */
const DETAIL = 0.35;
/** Minimum size of a ring in square pixels of `us-atlas`. If all rings are smaller, the largest ring is kept. */
const SMALLEST = 0.6;

const round = (value: number) => Math.round(value * STEPS);

const stepsOf = (points: readonly Position[]): string => {
  let [x, y] = [0, 0];
  const steps: string[] = [];
  for (const [index, point] of points.entries()) {
    const [nextX, nextY] = [round(point[0]!), round(point[1]!)];
    if (index === 0) steps.push(`M${nextX},${nextY}`);
    else if (nextX !== x || nextY !== y) steps.push(`${steps.length === 1 ? 'l' : ' '}${nextX - x},${nextY - y}`);
    [x, y] = [nextX, nextY];
  }
  return steps.length > 1 ? steps.join('') : '';
};

const areaOf = (ring: readonly Position[]): number => {
  let twice = 0;
  for (const [index, [x, y]] of ring.entries()) {
    const [nextX, nextY] = ring[(index + 1) % ring.length]!;
    twice += x! * nextY! - nextX! * y!;
  }
  return Math.abs(twice / 2);
};

const outlineOf = ({ coordinates }: MultiPolygon): string => {
  const rings = coordinates.flat();
  const largest = Math.max(...rings.map(areaOf));
  const kept = rings.filter((ring) => areaOf(ring) >= Math.min(SMALLEST, largest));
  return kept.map((ring) => `${stepsOf(ring)}Z`).join('');
};

const countyCodes = (group: string): string[] => {
  const [state, list = ''] = group.split(':');
  return list.split(',').map((county) => `${state}${county}`);
};

const middleOf = ({ coordinates }: MultiPolygon): readonly [number, number] => {
  const [largest] = coordinates.toSorted((a, b) => areaOf(b[0]!) - areaOf(a[0]!));
  const part: Feature = { type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: largest! } };
  return geoPath().centroid(part);
};

/**
 * Five-digit county codes of each area. A metropolitan area with divisions is represented by its divisions.
 * `counties.json` is the July 2023 delineation by the Office of Management and Budget. A code has two digits for the
 * state and three for the county.
 */
export const countiesByArea: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(counties).map(([cbsa, states]) => [cbsa, states.split(' ').flatMap(countyCodes)]),
);

export const buildOutlines = async (): Promise<Outlines> => {
  const file = createRequire(import.meta.url).resolve('us-atlas/counties-albers-10m.json');
  const atlas = JSON.parse(await readFile(file, 'utf8')) as Atlas;
  const plain = simplify(presimplify(atlas), DETAIL) as Atlas;
  const shapes = new Map(
    plain.objects.counties.geometries.map((county) => [String(county.id), county as Polygon | Outline]),
  );
  const projection = geoAlbersUsa()
    .scale(1300)
    .translate([SIZE[0] / 2, SIZE[1] / 2]);
  const areas: Record<string, readonly [string, number, number]> = {};
  for (const { cbsa, divisions, longitude, latitude } of metroAreas.values()) {
    const codes = divisions.length > 0 ? divisions : [cbsa];
    const wanted = codes.flatMap((code) => countiesByArea.get(code) ?? []);
    const found = wanted.flatMap((code) => shapes.get(code) ?? []);
    if (found.length > 0 && found.length === wanted.length) {
      const outline = merge(plain, found);
      const [x, y] = middleOf(outline);
      areas[cbsa] = [outlineOf(outline), round(x), round(y)];
      continue;
    }
    // `us-atlas` lacks Puerto Rico, and its data is older than Connecticut's planning regions. Areas there have only a
    // point.
    const centre = projection([longitude, latitude]);
    if (centre) areas[cbsa] = ['', round(centre[0]), round(centre[1])];
  }
  const borders = mesh(plain, plain.objects.states, (a, b) => a !== b).coordinates;
  const land = merge(plain, [...shapes.values()]);
  return {
    size: [SIZE[0] * STEPS, SIZE[1] * STEPS],
    land: outlineOf(land),
    states: borders.map((line) => stepsOf(line)).join(''),
    areas,
  };
};
