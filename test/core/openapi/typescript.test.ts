import { expect } from 'chai';
import { typescriptOf } from '../../../core/openapi/typescript.js';

const documentOf = (schema: Record<string, unknown>) => ({
  info: { title: 'T', version: '1' },
  paths: {},
  components: { schemas: { Thing: schema } },
});
const typeOf = (schema: Record<string, unknown>): string =>
  /export type Thing = ([\s\S]*?);\n\n/.exec(typescriptOf(documentOf(schema)))![1]!;

describe('typescriptOf(document)', () => {
  for (const [schema, type] of [
    [{ type: 'integer', minimum: 1 }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ type: ['string', 'null'], enum: ['a', "it's", null] }, "'a' | 'it\\'s' | null"],
    [{ const: 'ok' }, "'ok'"],
    [{ const: true }, 'true'],
    [{ anyOf: [{ $ref: '#/components/schemas/Other thing' }, { type: 'null' }] }, 'OtherThing | null'],
    [{ type: 'array', items: { type: ['string', 'null'] } }, 'readonly (string | null)[]'],
    [{ type: 'array', items: { $ref: '#/components/schemas/Thing' } }, 'readonly Thing[]'],
    [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
    [{}, 'unknown'],
    [
      { type: 'object', required: ['a'], properties: { a: { type: 'string' }, 'b-c': { type: 'number' } } },
      "{\n  readonly a: string;\n  readonly 'b-c'?: number;\n}",
    ],
  ] as const) {
    it(`${JSON.stringify(schema)} is ${type.replaceAll('\n', ' ')}`, () => {
      expect(typeOf(schema)).to.equal(type);
    });
  }

  it('has the documented input and output of each path', () => {
    const text = typescriptOf({
      ...documentOf({ type: 'string' }),
      paths: {
        '/things/{id}': {
          get: {
            summary: 'Ends a comment: */',
            parameters: [{ name: 'id', description: 'Its id.', required: true, schema: { type: 'integer' } }],
            responses: {
              200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
            },
          },
        },
      },
    });
    expect(text).to.contain(`  /** Ends a comment: *\\/ */
  readonly '/things/{id}': {
    readonly input: {
      /** Its id. */
      readonly id: number;
    };
    readonly output: Thing;
  };
`);
  });

  it('declares a shared parameter once', () => {
    const limit = { name: 'limit', description: 'Rows.', required: false, schema: { type: 'integer' } };
    const key = { name: 'key', description: 'A key.', required: true, schema: { type: 'string' } };
    const get = (...parameters: (typeof limit | typeof key)[]) => ({
      get: { summary: '', parameters, responses: {} },
    });
    const text = typescriptOf({
      ...documentOf({}),
      paths: {
        '/a': get(limit),
        '/b': get(key, limit),
        '/c': get(limit, { ...key, description: 'Another key.' }),
        '/d': get({ ...limit, required: true }),
      },
    });
    expect(text).to.contain('interface SharedParameters {\n  /** Rows. */\n  readonly limit?: number;\n}\n');
    const inputs = [...text.matchAll(/input: ([\s\S]*?);\n {4}readonly output/g)].map(([, input]) => input);
    expect(inputs).to.deep.equal([
      "Pick<SharedParameters, 'limit'>",
      "Pick<SharedParameters, 'limit'> & {\n      /** A key. */\n      readonly key: string;\n    }",
      "Pick<SharedParameters, 'limit'> & {\n      /** Another key. */\n      readonly key: string;\n    }",
      '{\n      /** Rows. */\n      readonly limit: number;\n    }',
    ]);
  });
});
