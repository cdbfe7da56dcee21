/** Defines every adapter of these tests. The suite's second process imports this file and selects one by name. */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';
import { rightAdapters } from './right-adapters.js';

for (const { that, ...breakage } of [...rightAdapters, ...brokenAdapters]) describeAdapter(targetOf(that, breakage));
