/**
 * Defines the correct and the broken adapters that these tests run the suite on. The suite's second process imports
 * this file and selects an adapter by name.
 */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';
import { rightAdapters } from './right-adapters.js';

for (const { that, ...breakage } of [...rightAdapters, ...brokenAdapters]) describeAdapter(targetOf(that, breakage));
