/** Tests that the key store follows its contract. */
import { describeKeyStore } from 'metro-forecast-api/conformance';
import keyStore from '../index.js';

describeKeyStore({
  name: keyStore.name,
  create: (context) => keyStore.create({ path: 'store.json' }, context),
});
