import type { Command } from 'commander';
import { openApiDocument } from '../../core/openapi/document.js';
import { type TypedDocument, typescriptOf } from '../../core/openapi/typescript.js';
import { loadConfig, loadModules } from '../../product.js';
import { write } from '../output.js';
import { EXIT_CODES } from '../report.js';

/** Returns the TypeScript types of the API that the configuration declares. */
export const apiTypes = async (path?: string): Promise<string> => {
  const loaded = await loadConfig({ path });
  const { registry } = await loadModules(loaded);
  const document = await openApiDocument(registry, loaded.config.server.basePath);
  return typescriptOf(document as unknown as TypedDocument);
};

export const register = (command: Command): void => {
  command
    .addHelpText(
      'after',
      `
To get a typed client, pass the printed type Paths to createClient<Paths>() from metro-forecast-api/client. The command
does not open the storage.

Examples:
  $ metro-forecast types > api-types.ts
  $ metro-forecast --config api.json types > api-types.ts

Exit codes: ${EXIT_CODES}.`,
    )
    .action(async (_: unknown, command: Command) =>
      write(await apiTypes(command.optsWithGlobals<{ config?: string }>().config)),
    );
};
