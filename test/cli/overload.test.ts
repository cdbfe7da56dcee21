/** A short overload. */
import { describeOverload } from './overload.js';

describeOverload({ seconds: 2, measuringSeconds: 1 });
