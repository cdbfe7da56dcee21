/** Runs the expected rules on the broken adapters that `npm test` omits. */
import { brokenAdapters, triedOften } from './faults/index.js';
import { itFailsByItsRules } from './it-fails-by-its-rules.js';

describe('the conformance suite', () => {
  for (const adapter of brokenAdapters) if (!triedOften.includes(adapter)) itFailsByItsRules(adapter);
});
