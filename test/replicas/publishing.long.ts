/** Three publications under 10,000 requests. */
import { describePublishing } from './publishing.js';

describePublishing(10_000);
