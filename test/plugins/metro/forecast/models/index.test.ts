import { expect } from 'chai';
import { OperatorError } from '../../../../../core/errors.js';
import { findModel, models } from '../../../../../plugins/metro/forecast/models/index.js';

describe('findModel(name)', () => {
  it('finds every model by its name', () => {
    for (const model of models) expect(findModel(model.name)).to.equal(model);
  });

  it('suggests the nearest name for a mistyped one', () => {
    expect(() => findModel('pooled-momentun')).to.throw(
      OperatorError,
      'There is no forecast model "pooled-momentun". Did you mean "pooled-momentum"? Choose one of: metro-momentum, pooled-momentum, persistence, ar1-nation, shrunk-mean.',
    );
  });
});

describe('models', () => {
  it('have unique names that are valid on a command line', () => {
    expect(new Set(models.map(({ name }) => name)).size).to.equal(models.length);
    for (const { name } of models) expect(name).to.match(/^[a-z]+[0-9]?(-[a-z]+)*$/);
  });
});
