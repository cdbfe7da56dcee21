import { expect } from 'chai';
import { IndexedCollection } from '../../../core/data/indexed-collection.js';
import { indexedSnapshot } from '../../../core/data/indexed-snapshot.js';
import { markets } from '../../../plugins/metro/collections.js';
import { documents, manifest } from '../../support/fixture.js';

describe('indexedSnapshot(dataset, assertOpen)', () => {
  it('finds batches of the same shape in every version, so that V8 compiles their readers once', async () => {
    const collections = new Map([[markets.name, await IndexedCollection.of(markets, documents['markets'] ?? [])]]);
    const found = ['1', '2'].map((version) => {
      const dataset = { manifest: { ...manifest, version }, publishedAt: new Date(), collections };
      return indexedSnapshot(dataset, () => undefined).find(markets.name, { order: markets.key });
    });
    expect(Object.getPrototypeOf(found[0])).to.equal(Object.getPrototypeOf(found[1]));
  });
});
