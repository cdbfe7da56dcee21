/** Starts the CLI from the same build as the tests. `bin/` starts the CLI in `dist`. */
import { main } from '../../cli/main.js';

await main(process.argv);
