/** Three publications under a short load. */
import { describePublishing } from './publishing.js';

describePublishing(2000);
