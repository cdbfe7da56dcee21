import { assert } from 'chai';
import { dataRoute, type Parameter } from '../../../core/contracts/plugin.js';
import { ApiError, errors } from '../../../core/errors.js';
import { compileInput } from '../../../core/routes/input.js';

const parameter = (schema: Parameter['schema'], more: Partial<Parameter> = {}): Parameter => ({
  description: 'The identifier.',
  schema,
  ...more,
});

const route = (
  query: Record<string, Parameter>,
  check?: (input: object) => void,
  filters: Record<string, Parameter['schema']> = {},
) =>
  dataRoute({
    path: '/things/{id}',
    operationId: 'getThing',
    summary: 'A thing',
    parameters: { path: { id: parameter({ type: 'string', pattern: '^\\d+$' }) }, query, filters },
    response: { description: 'It.', schema: { type: 'object' }, example: {} },
    handler: async () => ({}),
    ...(check && { check }),
  });

type Pairs = readonly (readonly [string, string])[];

const read = (query: Record<string, Parameter>, given: Pairs, unknown: 'reject' | 'ignore' = 'reject', id = '1') =>
  compileInput(route(query), unknown)(new Map([['id', id]]), given).input;

const rejection = (...args: Parameters<typeof read>) => {
  try {
    read(...args);
  } catch (error) {
    assert.instanceOf(error, ApiError);
    const { kind, message, options } = error as ApiError;
    return { code: kind.code, status: kind.status, message, details: options.details };
  }
  throw new Error('The input was accepted.');
};

describe('compileInput(route)', () => {
  it('converts values to the type of their schema, and fills in defaults', () => {
    const query = {
      limit: parameter({ type: 'integer', default: 5 }),
      share: parameter({ type: 'number' }),
      all: parameter({ type: 'boolean' }),
      name: parameter({ type: 'string' }),
      not: parameter({ type: 'string' }),
    };
    const given: Pairs = [
      ['share', '-0.5e1'],
      ['all', 'false'],
      ['name', '05'],
    ];
    assert.deepEqual({ ...read(query, given) }, { id: '1', limit: 5, share: -5, all: false, name: '05' });
    assert.deepEqual({ ...read(query, [['all', 'true']]) }, { id: '1', limit: 5, all: true });
  });

  it('reports integers that are too large', () => {
    const { message } = rejection({ x: parameter({ type: 'integer' }) }, [['x', '9007199254740992']]);
    assert.equal(message, 'The query parameter "x" is out of range.');
  });

  it('asks for lower case if a boolean has capitals, as Python writes them', () => {
    const { message } = rejection({ x: parameter({ type: 'boolean' }) }, [['x', 'True']]);
    assert.equal(message, 'The query parameter "x" must be true or false, in lower case.');
  });

  it('suggests no parameter instead of an empty name', () => {
    assert.notInclude(rejection({ q: parameter({ type: 'string' }) }, [['', '1']]).message, 'Did you mean');
  });

  it('returns an input without a prototype', () => {
    assert.isNull(Object.getPrototypeOf(read({}, [])));
  });

  for (const [type, value] of [
    ...['05', '+5', '5.0', ' 5', '5 ', '', '1e3', '0x1', '-'].map((value) => ['integer', value]),
    ...['.5', '5.', '01', '1e', 'NaN', 'Infinity', '1e999', ''].map((value) => ['number', value]),
    ...['1', '', 'yes'].map((value) => ['boolean', value]),
  ] as const) {
    it(`rejects ${JSON.stringify(value)} for ${type}`, () => {
      const issue = {
        integer: 'must be an integer',
        number: 'must be a number',
        boolean: 'must be true or false',
      }[type as 'integer'];
      assert.deepEqual(rejection({ x: parameter({ type }) }, [['x', value!]]), {
        code: 'invalid_parameter',
        status: 400,
        message: `The query parameter "x" ${issue}.`,
        details: [{ in: 'query', name: 'x', issue }],
      });
    });
  }

  for (const value of ['0', '-7', '9007199254740991']) {
    it(`accepts ${value} for integer`, () => {
      assert.equal(read({ x: parameter({ type: 'integer' }) }, [['x', value]])['x'], Number(value));
    });
  }

  for (const [schema, value, issue] of [
    [{ type: 'string', enum: ['a', 'b'] }, 'c', 'must be one of a, b'],
    [{ type: 'string', minLength: 1 }, '', 'must not be empty'],
    [{ type: 'string', format: 'date' }, '2026-02-30', 'must be a calendar date, such as 2024-01-31'],
    [{ type: 'integer', maximum: 100 }, '101', 'must be <= 100'],
    [{ type: 'string', pattern: '^\\d{5}$' }, '264', 'must be 5 digits'],
    [{ type: 'string', enum: ['a', '-a', 'b', '-b'] }, 'c', 'must be one of a, b, also with -'],
    [{ type: 'string', pattern: '^x', minLength: 1 }, '', 'must not be empty and must match pattern "^x"'],
  ] as const) {
    it(`rejects ${JSON.stringify(value)} with "${issue}"`, () => {
      const { message, details } = rejection({ x: parameter(schema) }, [['x', value]]);
      assert.equal(message, `The query parameter "x" ${issue}.`);
      assert.deepEqual(details, [{ in: 'query', name: 'x', issue }]);
    });
  }

  it('names where a parameter is: path or query', () => {
    const { message, details } = rejection({}, [], 'reject', 'abc');
    assert.equal(message, 'The path parameter "id" must match pattern "^\\d+$".');
    assert.deepEqual(details, [{ in: 'path', name: 'id', issue: 'must match pattern "^\\d+$"' }]);
  });

  it('rejects a missing required parameter with its description', () => {
    assert.deepEqual(rejection({ x: parameter({ type: 'string' }, { required: true }) }, []), {
      code: 'missing_parameter',
      status: 400,
      message: 'The query parameter "x" is required: The identifier.',
      details: [{ in: 'query', name: 'x', issue: 'is required' }],
    });
  });

  it('rejects a repeated parameter', () => {
    const twice: Pairs = [
      ['x', '1'],
      ['x', '1'],
    ];
    const { code, message } = rejection({ x: parameter({ type: 'string' }) }, twice);
    assert.equal(code, 'invalid_parameter');
    assert.equal(message, 'The query parameter "x" must be given only once.');
  });

  it('suggests the nearest name for an unknown parameter', () => {
    assert.deepEqual(rejection({ since: parameter({ type: 'string' }) }, [['sinse', '']]), {
      code: 'unknown_parameter',
      status: 400,
      message: 'This endpoint has no query parameter "sinse". Did you mean "since"?',
      details: [{ in: 'query', name: 'sinse', issue: 'is not known; did you mean "since"?' }],
    });
  });

  it('lists the parameters if no name is similar', () => {
    const query = { since: parameter({ type: 'string' }), cbsa: parameter({ type: 'string' }) };
    const { message, details } = rejection(query, [['constructor', '']]);
    assert.equal(message, 'This endpoint has no query parameter "constructor". It has: since, cbsa.');
    assert.deepEqual(details, [{ in: 'query', name: 'constructor', issue: 'is not known' }]);
  });

  it('rejects an unknown operator, even if it is the name of a property of all objects', () => {
    const parse = compileInput(route({}, undefined, { price: { type: 'number' } }), 'reject');
    for (const operator of ['near', 'constructor']) {
      assert.throws(
        () => parse(new Map([['id', '1']]), [[`price[${operator}]`, '6']]),
        ApiError,
        `This endpoint has no query parameter "price[${operator}]".`,
      );
    }
  });

  it('says that the endpoint takes no query parameters', () => {
    assert.equal(
      rejection({}, [['x', '']]).message,
      'This endpoint has no query parameter "x". It has no query parameters.',
    );
  });

  it('ignores unknown and repeated unknown parameters with "ignore"', () => {
    const given: Pairs = [
      ['x', '1'],
      ['x', '2'],
    ];
    assert.deepEqual({ ...read({}, given, 'ignore') }, { id: '1' });
  });

  it('uses the most important code (unknown, missing, invalid), and lists all problems', () => {
    const query = {
      a: parameter({ type: 'integer' }),
      b: parameter({ type: 'string' }, { required: true }),
    };
    const all = rejection(query, [
      ['a', 'x'],
      ['c', ''],
    ]);
    assert.equal(all.code, 'unknown_parameter');
    assert.sameMembers(all.details!.map(({ name }) => name) as string[], ['a', 'b', 'c']);
    assert.equal(rejection(query, [['a', 'x']]).code, 'missing_parameter');
  });

  it("runs the route's check only on valid input", () => {
    const seen: object[] = [];
    const parse = compileInput(
      route({ x: parameter({ type: 'integer' }) }, (input) => {
        seen.push({ ...input });
        throw new ApiError(errors.invalid_parameter, 'Not together.');
      }),
      'reject',
    );
    assert.throws(() => parse(new Map([['id', '1']]), [['x', 'y']]), 'must be an integer');
    assert.throws(() => parse(new Map([['id', '1']]), [['x', '3']]), 'Not together.');
    assert.deepEqual(seen, [{ id: '1', x: 3 }]);
  });
});
