/** Starts the CLI of the same build as the tests. */
import { main } from '../../cli/main.js';

await main(process.argv);
