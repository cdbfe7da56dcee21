/** Keys in texts that others see. */
import { expect } from 'chai';
import { createKey, holdsKey, maskKeys } from '../../../core/keys/key.js';

describe('maskKeys(text)', () => {
  for (const prefix of ['api_', 'mfk_', 'weather_live_']) {
    const { key } = createKey(undefined, prefix);
    it(`hides a key that begins with ${prefix}, wherever it stands`, () => {
      expect(maskKeys(`/rain/${key}?key=${key}"`)).to.equal(`/rain/${prefix}***?key=${prefix}***"`);
    });

    it(`hides a key that begins with ${prefix} cut short by up to 16 characters, or longer than it was`, () => {
      for (let cut = 0; cut <= 16; cut++) {
        expect(maskKeys(key.slice(0, key.length - cut))).to.equal(`${prefix}***`);
      }
      expect(maskKeys(`${key}${key.slice(-9)}`)).to.equal(`${prefix}***`);
    });
  }

  for (const name of [
    'series_id',
    'metro_hpi',
    'req_0123456789abcdef0123456789abcdef',
    'job_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  ]) {
    it(`leaves ${name} as it is`, () => {
      expect(maskKeys(name)).to.equal(name);
      expect(holdsKey(name)).to.equal(false);
    });
  }
});
