/** Starts the CLI from the same build as the tests, whereas `bin/` always starts the one in `dist`. */
import { main } from '../../cli/main.js';

await main(process.argv);
