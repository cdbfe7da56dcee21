import { showGuide } from './guide.js';

void showGuide();
