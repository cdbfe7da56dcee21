/** 100,000 invalid keys in a minute. */
import { describeFlood } from './invalid-keys.js';

describeFlood(60);
