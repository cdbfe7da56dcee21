import { expect } from 'chai';
import type { JsonSchema } from '../../../core/contracts/json-schema.js';
import { describeSchema, exampleOf } from '../../../core/validation/describe-errors.js';

describe('describeSchema(schema)', () => {
  const cases: [schema: JsonSchema, words: string][] = [
    [{ enum: ['a', 'b', null] }, '"a", "b" or null'],
    [{ enum: ['a'] }, '"a"'],
    [{ const: 0 }, '0'],
    [{ type: 'null' }, 'null'],
    [{ type: 'boolean' }, 'true or false'],
    [{ type: 'integer' }, 'a whole number'],
    [{ type: 'number', minimum: 0, maximum: 1 }, 'a number from 0 to 1'],
    [{ type: 'number', minimum: 0 }, 'a number of at least 0'],
    [{ type: 'number', maximum: 0 }, 'a number of at most 0'],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 'a number greater than 0 and less than 1'],
    [{ type: 'number', minimum: 0, exclusiveMaximum: 1 }, 'a number of at least 0 and less than 1'],
    [{ type: 'string' }, 'a string'],
    [{ type: 'string', minLength: 0 }, 'a string'],
    [{ type: 'string', minLength: 1 }, 'a string that is not empty'],
    [{ type: 'string', minLength: 2 }, 'a string, of at least 2 characters'],
    [{ type: 'string', minLength: 1, maxLength: 9 }, 'a string that is not empty, of at most 9 characters'],
    [{ type: 'string', format: 'date', pattern: '^2' }, 'a string, in the format "date", matching ^2'],
    [{ type: 'array' }, 'a list'],
    [{ type: 'array', uniqueItems: false }, 'a list'],
    [{ type: 'array', uniqueItems: true }, 'a list without repetitions'],
    [
      { type: 'array', minItems: 1, maxItems: 3, uniqueItems: true, items: { type: 'integer' } },
      'a list of at least 1 of at most 3 without repetitions, each a whole number',
    ],
    [{ type: 'array', items: null }, 'a list'],
    [{ type: 'array', items: true }, 'a list'],
    [{ type: 'object' }, 'an object'],
    [{ type: 'object', required: [] }, 'an object'],
    [{ type: 'object', required: ['a', 'b'] }, 'an object with "a", "b"'],
    [{ type: ['integer', 'null'], minimum: 1 }, 'a whole number of at least 1 or null'],
    [{ anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] }, 'a string, a whole number or null'],
    [{ oneOf: [{ type: 'string' }, { const: 1 }] }, 'a string or 1'],
    [{ type: 'unheard-of' }, 'unheard-of'],
    [{}, 'another value'],
    [{ anyOf: 'no list' }, 'another value'],
  ];
  for (const [schema, words] of cases) {
    it(`${JSON.stringify(schema)}: ${words}`, () => {
      expect(describeSchema(schema)).to.equal(words);
    });
  }
});

describe('exampleOf(schema)', () => {
  it('returns the first example, even if it is falsy', () => {
    expect(exampleOf({ examples: ['a', 'b'], example: 'c' })).to.equal(', for example "a"');
    expect(exampleOf({ example: 0 })).to.equal(', for example 0');
    expect(exampleOf({ examples: [] })).to.equal('');
    expect(exampleOf({})).to.equal('');
  });
});
