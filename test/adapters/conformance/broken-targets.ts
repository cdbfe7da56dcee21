/** Every broken adapter, for the suite's other process: it imports this file, and takes the one that it is told. */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';

describeAdapter(targetOf('sqlite', { sqlite: {} }));
for (const { that, ...breakage } of brokenAdapters) describeAdapter(targetOf(that, breakage));
