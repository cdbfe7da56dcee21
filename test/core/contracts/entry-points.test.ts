import { expect } from 'chai';
import * as adapter from 'metro-forecast-api/adapter';
import * as plugin from 'metro-forecast-api/plugin';

describe('entry points', () => {
  it('export at most 26 values each', () => {
    expect(Object.keys(plugin)).to.have.length.within(10, 26);
    expect(Object.keys(adapter)).to.have.length.within(10, 26);
  });
});
