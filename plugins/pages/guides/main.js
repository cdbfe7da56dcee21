/** A guide: its text. */
import { showGuide } from './guide.js';

void showGuide();
