/** A short flood of invalid keys. */
import { describeFlood } from './invalid-keys.js';

describeFlood(4);
