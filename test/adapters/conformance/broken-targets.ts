/** The second process of the conformance suite imports this file, and selects one of the adapters by name. */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';
import { rightAdapters } from './right-adapters.js';

for (const { that, ...breakage } of [...rightAdapters, ...brokenAdapters]) describeAdapter(targetOf(that, breakage));
