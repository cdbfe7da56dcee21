import { expect } from 'chai';
import { anotherDataset, collections, datasetOf, rowsWithCrowd } from '../../../adapters/conformance/fixture.js';
import { checkDataset } from '../../../core/data/validate.js';
import { checkCollection, referenceErrors } from '../../../core/registry/collect-collections.js';

describe('the dataset of the conformance suite', () => {
  it('has valid collections', () => {
    for (const each of collections.values()) {
      expect([...checkCollection(each), ...referenceErrors(each, collections)], each.name).to.deep.equal([]);
    }
  });

  it('is valid in each version', async () => {
    for (const dataset of [
      datasetOf(),
      anotherDataset(),
      datasetOf('crowd', '2024-01-01T00:00:00Z', rowsWithCrowd()),
    ]) {
      expect((await checkDataset(dataset, collections)).kept).to.deep.equal([]);
    }
  });
});
