import { expect } from 'chai';
import json from '../../adapters/json/index.js';
import memory from '../../adapters/memory.js';
import mongo from '../../adapters/mongo/index.js';
import sqlite from '../../adapters/sqlite/index.js';
import { packageVersion } from '../../core/util/package.js';
import { checkOptions } from '../../core/validation/describe-errors.js';

const errorsOf = (schema: Parameters<typeof checkOptions>[1], value: unknown) => checkOptions('options', schema, value);

describe('the adapters', () => {
  it('have a name and a description', () => {
    const modules = [memory, json, mongo, sqlite].map(({ kind, name, version }) => [kind, name, version]);
    const expected = ['memory', 'json', 'mongo', 'sqlite'].map((name) => ['adapter', name, packageVersion]);
    expect(modules).to.deep.equal(expected);
  });

  for (const { name, options } of [memory, json, mongo, sqlite]) {
    it(`${name} describes each of its options`, () => {
      for (const [option, schema] of Object.entries(options['properties'] as object)) {
        expect(schema.description, option).to.match(/^[A-Z].{10,}\.$/);
      }
    });
  }

  it('memory accepts an optional path', () => {
    expect(errorsOf(memory.options, {})).to.deep.equal([]);
    expect(errorsOf(memory.options, { path: 'data' })).to.deep.equal([]);
    expect(errorsOf(memory.options, { path: '' })).to.deep.equal([
      'options.path: "" is not allowed; it must be a string that is not empty',
    ]);
    expect(errorsOf(memory.options, { path: 1, pahts: 2 })).to.deep.equal([
      'options.pahts: there is no such setting; did you mean "path"?',
      'options.path: 1 is not allowed; it must be a string that is not empty',
    ]);
    expect(errorsOf(memory.options, [])).to.deep.equal(['options: a list is not allowed; it must be an object']);
  });

  it('json accepts a path, and polls it every second by default', () => {
    const options = { path: 'data' };
    expect(errorsOf(json.options, options)).to.deep.equal([]);
    expect(options).to.deep.equal({ path: 'data', pollMs: 1000 });
    expect(errorsOf(json.options, {})).to.deep.equal([
      'options.path: is missing; it must be a string that is not empty',
    ]);
    expect(errorsOf(json.options, { path: '', pollMs: 9, poll: 1 })).to.deep.equal([
      'options.poll: there is no such setting; did you mean "pollMs"?',
      'options.path: "" is not allowed; it must be a string that is not empty',
      'options.pollMs: 9 is not allowed; it must be a whole number of at least 10',
    ]);
    expect(errorsOf(json.options, 'data')).to.have.length(1);
  });

  it('mongo accepts a URI, and has defaults for all other options except the database', () => {
    const options = { uri: 'mongodb://127.0.0.1' };
    expect(errorsOf(mongo.options, options)).to.deep.equal([]);
    expect(options).to.deep.equal({
      uri: 'mongodb://127.0.0.1',
      serverSelectionMs: 500,
      connectMs: 1000,
      waitQueueMs: 500,
      operationMs: 1500,
      poolMin: 1,
      poolMax: 50,
      pollMs: 1000,
      batchSize: 2000,
      holdMs: 60_000,
      lockMs: 15_000,
      writeMs: 30_000,
    });
  });

  it('mongo names every invalid option, without showing the URI', () => {
    const wrong = { uri: 'postgres://u:secret@h', database: 'a/b', batchSize: 0, lockMs: '5', poolMin: -1, lock: 1 };
    const lines = errorsOf(mongo.options, wrong);
    expect(lines).to.deep.equal([
      'options.lock: there is no such setting; did you mean "lockMs"?',
      'options.uri: the value (not shown, it may be a secret) is not allowed; it must be a string, matching ^mongodb(\\+srv)?://',
      'options.database: "a/b" is not allowed; it must be a string, matching ^[^/\\\\. "$*<>:|?\\u0000]{1,63}$',
      'options.poolMin: -1 is not allowed; it must be a whole number of at least 0',
      'options.batchSize: 0 is not allowed; it must be a whole number of at least 1',
      'options.lockMs: "5" is not allowed; it must be a whole number of at least 500',
    ]);
    expect(errorsOf(mongo.options, {})).to.have.length(1);
    expect(errorsOf(mongo.options, [])).to.have.length(1);
  });
});
