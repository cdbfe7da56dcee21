import { describeKilledPublishers } from './mongo-killed-publishers.js';

describeKilledPublishers(Array.from({ length: 60 }, () => Math.random() * 1.2));
