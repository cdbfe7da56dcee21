/**
 * Defines all correct and broken adapters for the suite. The suite's second process imports this file too, and selects
 * an adapter by name.
 */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';
import { rightAdapters } from './right-adapters.js';

for (const { that, ...breakage } of [...rightAdapters, ...brokenAdapters]) describeAdapter(targetOf(that, breakage));
