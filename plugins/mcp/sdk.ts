/** The official SDK, which is an optional package. */
import { explainMissing } from '../optional-package.js';

/** Where it is missing, whatever imports this module fails with what to do. */
export const { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } = await import(
  '@modelcontextprotocol/server'
).catch(explainMissing('@modelcontextprotocol/server'));

/** Standard input and output; only where they are asked for. */
export const loadStdio = () => import('@modelcontextprotocol/server/stdio');
