import { describeKilledPublishers } from './mongo-killed-publishers.js';

describeKilledPublishers([0.1, 0.5, 0.9]);
