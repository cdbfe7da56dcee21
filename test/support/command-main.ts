/** Starts the command line from the same build as the tests. `bin/` starts the one in `dist`. */
import { main } from '../../cli/main.js';

await main(process.argv);
