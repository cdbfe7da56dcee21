/** The routes of a service as read-only tools for models: a call is a request, an error says what to do. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { MountContext, Parameter, Route } from '../../core/contracts/plugin.js';
import type { ErrorDetail } from '../../core/errors.js';
import { shown } from '../../core/keys/key.js';
import { nearest } from '../../core/validation/nearest.js';
import { ProtocolError, ProtocolErrorCode } from './sdk.js';

type Arguments = Readonly<Record<string, unknown>>;

/** Sends a GET to a route of this service, given its path and query, and resolves with status and body. */
export type Ask = MountContext['request'];

export interface Tools {
  readonly list: Tool[];
  /**
   * Asks the route; its refusal is a result with `isError`.
   * @throws ProtocolError `InvalidParams` for a tool that there is not, with the nearest name
   */
  call(ask: Ask, name: string, given?: Arguments): Promise<CallToolResult>;
}

/** The most bytes of a result, unless the options say otherwise: what a model can read at a time is little. */
export const MAX_ANSWER_BYTES = 256 * 1024;

/** The OpenAPI document is no tool: the tools' schemas say the same, and reading it would cost a model tokens. */
const OPENAPI_OPERATION = 'getOpenApi';

/** @param maxAnswerBytes longer results become errors that ask for a narrower call */
export const toolsOf = (routes: readonly Route[], maxAnswerBytes: number): Tools => {
  const served = routes.filter(({ operationId }) => operationId !== OPENAPI_OPERATION);
  const byName = new Map(served.map((route) => [toolName(route), route]));
  return {
    list: served.map(describe),
    async call(ask, name, given = {}) {
      const route = byName.get(name);
      if (!route) {
        const near = nearest(name, [...byName.keys()]);
        const advice = near ? `did you mean "${near}"?` : 'tools/list has all of them.';
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${shown(name)}"; ${advice}`);
      }
      const missing = Object.entries(route.parameters?.path ?? {}).filter(([argument]) => !isGiven(given[argument]));
      if (missing.length > 0) return refusal(missing.map(missingArgument).join('\n'));
      const { status, body } = await ask(targetOf(route, given));
      if (status !== 200) return refusal(errorText(body));
      const bytes = Buffer.byteLength(body);
      return bytes > maxAnswerBytes ? refusal(tooLong(route, bytes, maxAnswerBytes)) : { content: text(body) };
    },
  };
};

const text = (content: string) => [{ type: 'text' as const, text: content }];
const refusal = (sentence: string): CallToolResult => ({ content: text(sentence), isError: true });

/** `listMarkets` is called `list_markets`. */
const toolName = ({ operationId }: Route): string =>
  operationId
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .toLowerCase();

const describe = (route: Route): Tool => {
  const { summary, description, response, parameters = {} } = route;
  const query = Object.entries(parameters.query ?? {});
  const path = Object.entries(parameters.path ?? {});
  const required = [...path, ...query.filter(([, parameter]) => parameter.required)].map(([name]) => name);
  return {
    name: toolName(route),
    title: summary,
    description: [`${summary}.`, description, `Answers with: ${response.description}`].filter(Boolean).join(' '),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries([...path, ...query].map(([name, parameter]) => [name, property(parameter)])),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    },
    annotations: { title: summary, readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  };
};

const property = ({ schema, description, example }: Parameter) => ({
  ...schema,
  description,
  ...(example === undefined ? {} : { examples: [example] }),
});

/** Models send null, and empty text, for what they leave out. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const missingArgument = ([name, { description, example }]: [string, Parameter]): string =>
  `The argument "${name}" is required: ${description}${example === undefined ? '' : ` Example: "${example}".`}`;

/** Unknown arguments are sent in the query on purpose: the API's error then suggests the nearest valid parameter. */
const targetOf = ({ path, parameters }: Route, given: Arguments): string => {
  const inPath = parameters?.path ?? {};
  const asText = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  const query = Object.entries(given).filter(([name, value]) => !Object.hasOwn(inPath, name) && isGiven(value));
  const search = new URLSearchParams(query.map(([name, value]): [string, string] => [name, asText(value)])).toString();
  const target = path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(asText(given[name])));
  return search === '' ? target : `${target}?${search}`;
};

/** The API's error as text. Its sentence names a single fault already, so faults are listed only where there are more. */
const errorText = (body: string): string => {
  const { error, code, details = [] } = JSON.parse(body) as { error: string; code: string; details?: ErrorDetail[] };
  const faults = details.length > 1 ? details.map(({ name, issue }) => `- ${name}: ${issue}`) : [];
  return [`${error} (${code})`, ...faults].join('\n');
};

const tooLong = ({ parameters }: Route, bytes: number, maxBytes: number): string => {
  const names = Object.keys(parameters?.query ?? {}).map((name) => `"${name}"`);
  const advice = names.length > 0 ? `Narrow it by ${names.join(' or ')}.` : 'Ask for a single item instead.';
  return `The result has ${bytes} bytes, more than the ${maxBytes} that are sent to models. ${advice}`;
};
