/** The official SDK, an optional package. Only this module imports it. */
export { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';

/** Loads the transport over standard input and output. */
export const loadStdio = () => import('@modelcontextprotocol/server/stdio');
