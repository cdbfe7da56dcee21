/** The official SDK, which is installed by those who want this plugin: it weighs nearly as much as all the rest. */
import { OperatorError } from '../../core/errors.js';

const PACKAGE = '@modelcontextprotocol/server';

const explain = (cause: unknown): never => {
  if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
  throw new OperatorError(`it needs the package ${PACKAGE}, which is not installed: npm install ${PACKAGE}`, [], {
    cause,
  });
};

/** Where it is missing, whatever imports this module fails with what to do. */
export const { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } = await import(
  '@modelcontextprotocol/server'
).catch(explain);

/** Standard input and output; only where they are asked for. */
export const loadStdio = () => import('@modelcontextprotocol/server/stdio');
