/** Loads a dependency when it is first needed: those that few processes use would cost all of them time and memory. */
import { createRequire } from 'node:module';

/** Only for CommonJS packages. The caller says the type, `typeof import(name)`. */
export const loadPackage: NodeJS.Require = createRequire(import.meta.url);
