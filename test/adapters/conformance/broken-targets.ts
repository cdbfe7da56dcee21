/** Every broken adapter. The second process of the suite imports this file and selects one by name. */
import { describeAdapter } from '../../../adapters/conformance/index.js';
import { targetOf } from './breakable.js';
import { brokenAdapters } from './faults/index.js';

describeAdapter(targetOf('sqlite', { sqlite: {} }));
for (const { that, ...breakage } of brokenAdapters) describeAdapter(targetOf(that, breakage));
