/** The command line of the build that the tests run from; `bin/` runs the one in `dist`. */
import { main } from '../../cli/main.js';

await main(process.argv);
