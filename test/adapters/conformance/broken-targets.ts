/** Defines every broken adapter. The suite's second process imports this file and selects an adapter by name. */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';

describeAdapter(targetOf('sqlite', { sqlite: {} }));
for (const { that, ...breakage } of brokenAdapters) describeAdapter(targetOf(that, breakage));
