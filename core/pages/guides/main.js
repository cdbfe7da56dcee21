import { showLoadError } from '../shared/load-errors.js';
import { showGuide } from './guide.js';

showGuide().catch(showLoadError);
