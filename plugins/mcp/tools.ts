import { createHash } from 'node:crypto';
import { type CallToolResult, ProtocolError, ProtocolErrorCode, type Tool } from '@modelcontextprotocol/server';
import {
  type ErrorDetail,
  excerpt,
  type MountContext,
  nearest,
  type Parameter,
  type Route,
} from 'metro-forecast-api/plugin';

type Arguments = Readonly<Record<string, unknown>>;

type Ask = MountContext['request'];

export interface Tools {
  readonly list: Tool[];
  /**
   * Sends a request to the route of a tool. API errors become results with `isError`.
   * @throws ProtocolError with code `InvalidParams` for an unknown tool
   */
  call(ask: Ask, name: string, given?: Arguments): Promise<CallToolResult>;
}

/** Default maximum size of a result in bytes. Language models can process only a limited amount of text. */
export const MAX_ANSWER_BYTES = 256 * 1024;

/** The OpenAPI document is not a tool, because it is long and repeats the schemas of all tools. */
const OPENAPI_OPERATION = 'getOpenApi';

export const toolsOf = (routes: readonly Route[], maxAnswerBytes: number): Tools => {
  const served = new Map(
    routes.flatMap((route) => (route.operationId === OPENAPI_OPERATION ? [] : [[route.operationId, route]])),
  );
  const names = uniqueNames([...served.keys()], toolName);
  const tools = new Map([...names].map(([name, id]) => [name, new RouteTool(name, served.get(id)!)]));
  return {
    list: [...tools.values()].map((tool) => tool.describe()),
    async call(ask, name, given = {}) {
      const tool = tools.get(name);
      if (!tool) {
        const near = nearest(name, [...tools.keys()]);
        const advice = near ? `did you mean "${near}"?` : 'tools/list returns all tools.';
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${excerpt(name)}"; ${advice}`);
      }
      const errors = tool.argumentErrors(given);
      if (errors.length > 0) return errorResult(errors.join('\n'));
      const { status, headers, body } = await ask(tool.target(given));
      if (status !== 200) return errorResult(errorText(body));
      const bytes = Buffer.byteLength(body);
      if (bytes > maxAnswerBytes) return errorResult(tool.tooLong(bytes, maxAnswerBytes));
      return { content: [...text(body), ...aboutPages(headers)] };
    },
  };
};

const text = (content: string) => [{ type: 'text' as const, text: content }];
const errorResult = (sentence: string): CallToolResult => ({ content: text(sentence), isError: true });

/** Tools return no headers, so the total count and the link to the next page become texts. */
const aboutPages = (headers: Awaited<ReturnType<Ask>>['headers']) => {
  const { link, 'total-count': total } = headers;
  const next = /^<\?([^>]*)>; rel="next"/.exec(String(link))?.[1];
  const after = new URLSearchParams(next).get('after');
  return [
    ...(total === undefined ? [] : text(`All pages together have ${total} rows.`)),
    ...(after === null ? [] : text(`There is a next page. To get it, add the argument "after": "${after}".`)),
  ];
};

class RouteTool {
  readonly #inPath: ReadonlyMap<string, Parameter>;
  readonly #inQuery: ReadonlyMap<string, Parameter>;
  readonly #parameters: ReadonlyMap<string, string>;

  constructor(
    readonly name: string,
    readonly route: Route,
  ) {
    this.#inPath = new Map(Object.entries(route.parameters?.path ?? {}));
    this.#inQuery = new Map(Object.entries(route.parameters?.query ?? {}));
    this.#parameters = uniqueNames([...this.#inPath.keys(), ...this.#inQuery.keys()], argumentName);
  }

  describe(): Tool {
    const { summary, description, response } = this.route;
    const given = [...this.#parameters].map(([argument, name]) => [argument, this.#parameter(name), name] as const);
    const required = given.filter(([, { required }, name]) => required || this.#inPath.has(name));
    return {
      name: this.name,
      title: summary,
      description: [`${summary}.`, description, `Returns: ${response.description}`].filter(Boolean).join(' '),
      inputSchema: {
        type: 'object',
        properties: {
          ...Object.fromEntries(given.map(([argument, parameter]) => [argument, property(parameter)])),
          ...(this.#filters && { [FILTERS]: filtersProperty(this.#filters) }),
        },
        ...(required.length > 0 ? { required: required.map(([argument]) => argument) } : {}),
        additionalProperties: false,
      },
      annotations: { title: summary, readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    };
  }

  argumentErrors(given: Arguments): string[] {
    const values = this.#valuesOf(given);
    const unfit = [...values].flatMap(([argument, value]) => {
      if (!value.isWellFormed()) return [`The argument "${excerpt(argument)}" must be well-formed Unicode text.`];
      const isDots = value === '.' || value === '..';
      return isDots && this.#inPath.has(this.#parameterName(argument))
        ? [`The argument "${argument}" must not be "${value}". (invalid_parameter)`]
        : [];
    });
    const missing = [...this.#parameters].flatMap(([argument, name]) => {
      const parameter = this.#inPath.get(name);
      return parameter && !values.has(argument) ? [missingArgument(argument, parameter)] : [];
    });
    return [...unfit, ...missing];
  }

  /** Unknown arguments become query parameters, so that the error of the API suggests a valid name. */
  target(given: Arguments): string {
    const values = new Map(
      [...this.#valuesOf(given)].map(([argument, value]) => [this.#parameterName(argument), value]),
    );
    const path = this.route.path.replace(/\{([^}]+)\}/g, (_, name: string) => segment(values.get(name)!));
    const query = [...values].filter(([name]) => !this.#inPath.has(name));
    return query.length > 0 ? `${path}?${new URLSearchParams(query)}` : path;
  }

  tooLong(bytes: number, maxBytes: number): string {
    const names = [...this.#parameters]
      .filter(([, name]) => this.#inQuery.has(name))
      .map(([argument]) => `"${argument}"`);
    const advice = names.length > 0 ? `Narrow it with ${names.join(' or ')}.` : 'Request a single item instead.';
    return `The result is ${bytes} bytes long, but the limit is ${maxBytes}. ${advice}`;
  }

  /** Models send null or an empty string for arguments that they omit, so these values are dropped. */
  #valuesOf(given: Arguments): Map<string, string> {
    const { [FILTERS]: filters, ...others } = given;
    const all = this.#filters && typeof filters === 'object' ? { ...others, ...filters } : given;
    const sent = Object.entries(all).filter(([, value]) => value !== undefined && value !== null && value !== '');
    return new Map(
      sent.map(([name, value]) => {
        const isObject = typeof value === 'object' && !Array.isArray(value);
        return [name, isObject ? JSON.stringify(value) : String(value)];
      }),
    );
  }

  get #filters(): Filters | undefined {
    return this.route.parameters?.filters;
  }

  #parameterName(argument: string): string {
    return this.#parameters.get(argument) ?? argument;
  }

  #parameter(name: string): Parameter {
    return (this.#inPath.get(name) ?? this.#inQuery.get(name))!;
  }
}

const FILTERS = 'filters';
type Filters = NonNullable<NonNullable<Route['parameters']>['filters']>;

const filtersProperty = (filters: Filters) => {
  const columns = Object.entries(filters).map(([name, { type }]) => `${name} (${type})`);
  return {
    type: 'object' as const,
    description:
      `Conditions that rows must meet. Each is a column with an operator (eq, not, in, gt, gte, lt, lte, null) and a ` +
      `value. Columns: ${columns.join(', ')}.`,
    additionalProperties: { type: ['string', 'number', 'boolean'] },
    examples: [{ [`${Object.keys(filters)[0]}[null]`]: false }],
  };
};

const property = ({ schema, description, example }: Parameter) => ({
  ...schema,
  description,
  ...(example === undefined ? {} : { examples: [example as never] }),
});

const missingArgument = (argument: string, { description, example }: Parameter): string =>
  `The argument "${argument}" is required: ${description}${example === undefined ? '' : ` Example: "${example}".`}`;

/**
 * Encodes a value as one path segment. The first character is always encoded, so that a value such as `..` or the name
 * of a route cannot select another route.
 */
const segment = (value: string): string =>
  encodeURIComponent(value).replace(/^[^%]/, (first) => `%${first.charCodeAt(0).toString(16)}`);

const errorText = (body: string): string => {
  const { error, code, details = [] } = JSON.parse(body) as { error: string; code: string; details?: ErrorDetail[] };
  const errors = details.length > 1 ? details.map(({ name, issue }) => `- ${name}: ${issue}`) : [];
  return [`${error} (${code})`, ...errors].join('\n');
};

/** Assistants accept only tool names that match `[A-Za-z0-9_-]{1,64}`. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/** Converts `listMarkets` to `list_markets`. Each capital gets an underscore, so that `listXY` and `listXy` differ. */
export const toolName = (operationId: string): string =>
  operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const argumentName = (parameter: string): string =>
  parameter.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+|_+$/g, '');

/**
 * Derives a unique name for each id. If a name is empty, too long or ambiguous, it ends with a hash of the id. Unlike a
 * counter, a hash does not depend on the order of the ids.
 * @returns a map from names to ids
 */
export const uniqueNames = (ids: readonly string[], derive: (id: string) => string): ReadonlyMap<string, string> => {
  const uses = new Map<string, number>();
  for (const id of ids) uses.set(derive(id), (uses.get(derive(id)) ?? 0) + 1);
  const nameOf = (id: string): string => {
    const name = derive(id);
    const isOwn = uses.get(name) === 1 || id === name;
    if (isOwn && name !== '' && name.length <= MAX_LENGTH) return name;
    const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH);
    return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
  };
  return new Map(ids.map((id) => [nameOf(id), id]));
};
