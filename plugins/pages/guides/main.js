/** The script of a guide. */
import { showGuide } from './guide.js';

void showGuide();
