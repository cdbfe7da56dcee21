/** An overload of a minute. */
import { describeOverload } from './overload.js';

describeOverload({ seconds: 60, measuringSeconds: 2 });
