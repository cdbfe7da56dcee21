import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { pageModules } from '../../../support/page-modules.js';

type Color = readonly [number, number, number];

/**
 * Matrices for linear RGB that simulate colour blindness at full severity. Source: Machado, Oliveira and Fernandes
 * (2009).
 */
const SIGHTS: Readonly<Record<string, readonly Color[]>> = {
  'all cones': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const times = (matrix: readonly Color[], [a, b, c]: Color): Color =>
  matrix.map(([x, y, z]) => x * a + y * b + z * c) as unknown as Color;

const linear = (hex: string): Color =>
  [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as unknown as Color;

/** In OKLab, equal distances look about equally different. */
const oklab = (color: Color): Color => {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    color,
  ).map((part) => Math.cbrt(Math.max(part, 0))) as unknown as Color;
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
};

const css = await readFile(join(packageRoot, 'core/pages/shared/tokens.css'), 'utf8');
const SCHEMES = ['light', 'dark'] as const;
const hexOf = (name: string, scheme: (typeof SCHEMES)[number]): string => {
  const [, light, dark] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css)!;
  return scheme === 'light' ? light! : dark!;
};
const distance = (a: Color, b: Color): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}-${at + 1}`);

describe('the colours of the explorer', () => {
  const grades = names('grade', 5);
  const changes = [...names('fall', 5).toReversed(), ...names('rise', 7)];
  for (const scheme of SCHEMES) {
    for (const [sight, matrix] of Object.entries(SIGHTS)) {
      const seen = (name: string) => oklab(times(matrix, linear(hexOf(name, scheme))));

      it(`differ for each pair of grades and signals, ${scheme}, ${sight}`, () => {
        for (const set of [grades, ['fall-3', 'even', 'rise-5']]) {
          for (const [at, one] of set.entries()) {
            for (const other of set.slice(at + 1)) {
              expect(distance(seen(one), seen(other)), `${one} and ${other}`).to.be.above(0.1);
            }
          }
        }
      });

      it(`differ between neighbouring classes, and more with each class away from zero, ${scheme}, ${sight}`, () => {
        for (const [at, one] of changes.slice(0, -1).entries()) {
          expect(distance(seen(one), seen(changes[at + 1]!)), `${one} and ${changes[at + 1]}`).to.be.above(0.04);
        }
        for (const side of [names('fall', 5), names('rise', 7)]) {
          const lightness = side.map((name) => seen(name)[0]);
          const ordered = lightness.toSorted((a, b) => (scheme === 'light' ? b - a : a - b));
          expect(lightness).to.deep.equal(ordered);
        }
      });

      it(`emphasize grades with a high risk, ${scheme}, ${sight}`, () => {
        const contrasts = grades.map((name) => Math.abs(seen(name)[0] - seen('raised')[0]));
        const high = Math.min(contrasts[3]!, contrasts[4]!);
        for (const contrast of contrasts.slice(0, 3)) expect(contrast).to.be.below(high);
        expect(contrasts[4]).to.be.above(contrasts[3]!);
      });
    }
  }
});

const { fillsOf, scaleOf } = await pageModules('plugins/metro/explorer/browser/markets/scales');
const labels = (measure: string, values: readonly unknown[]): string[] =>
  scaleOf(measure, values).steps.map(({ label }: { label: string }) => label);

describe('fillsOf(size)', () => {
  it('gives the patterns of each drawing different ids', () => {
    const made = { setAttribute: () => undefined, append: () => undefined, children: [] };
    const { document } = globalThis as { document?: unknown };
    Object.assign(globalThis, { document: { createElementNS: () => ({ ...made }) } });
    try {
      const [one, other] = [fillsOf(4), fillsOf(4)];
      expect(one.fill('none')).to.match(/^url\(#fill-none-\d+\)$/);
      expect(one.fill('none')).not.to.equal(other.fill('none'));
      expect(one.fill('grade-1')).to.equal('var(--grade-1)');
    } finally {
      Object.assign(globalThis, { document });
    }
  });
});

describe('scaleOf(measure, values)', () => {
  it('has classes of equal width around zero, with open ends, and always a class without an index', () => {
    expect(labels('forecast', [-0.4, 1, 3, 8.1])).to.deep.equal([
      ...['≤ 0%', '0 to 2%', '2 to 4%', '4 to 6%', '6 to 8%', '≥ 8%', 'no index or forecast'],
    ]);
    expect(labels('last', [-17.2, -5, 12])).to.deep.equal([
      ...['≤ −15%', '−15 to −10%', '−10 to −5%', '−5 to 0%', '0 to 5%', '5 to 10%', '≥ 10%', 'no index'],
    ]);
    expect(labels('grade', [null])).to.deep.equal([...'ABCDF', 'no index or forecast']);
    expect(labels('last', [])).to.deep.equal(['no index']);
  });

  it('gives -5 and -17 different colours, and each value the colour of its class', () => {
    const { colorOf, steps } = scaleOf('last', [-17.2, -5, 12]);
    expect(colorOf(-17.2)).not.to.equal(colorOf(-5));
    expect(colorOf(-17.2)).to.equal(steps[0].color);
    expect(colorOf(12)).to.equal(steps.at(-2).color);
    expect(colorOf(null)).to.equal('none');
  });

  it('has a colour for any values', () => {
    for (const most of [0.1, 1, 7, 49, 350]) {
      const { colorOf, steps } = scaleOf('last', [-most, 0, most]);
      for (const value of [-most, 0, most]) expect(colorOf(value)).to.match(/^(fall-[1-5]|rise-[1-7])$/);
      expect(new Set(steps.map(({ color }: { color: string }) => color)).size).to.equal(steps.length);
    }
  });
});
