/** Generates TypeScript types from an OpenAPI document of this framework: schemas, and input and output of each path. */

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly summary: string;
  readonly parameters?: readonly ParameterObject[];
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Json }>> }>
  >;
}

interface ParameterObject {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly schema: Json;
}

export interface TypedDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

const isIdentifier = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name);
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const literal = (value: unknown): string => (typeof value === 'string' ? quoted(value) : String(value));
const comment = (text: unknown, indent: string): string =>
  typeof text === 'string' && text !== ''
    ? `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ').trim()} */\n`
    : '';

const member = (name: string, description: unknown, required: boolean, type: string, indent: string): string =>
  `${comment(description, indent)}${indent}readonly ${isIdentifier(name) ? name : quoted(name)}${required ? '' : '?'}: ${type};\n`;

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** The type of a schema, without keywords that types cannot express, such as bounds and patterns. */
const typeOf = (schema: Json, indent: string): string => {
  const { $ref, enum: values, anyOf, oneOf, type } = schema as Record<string, never>;
  if ($ref) return pascalCase(String($ref).split('/').at(-1)!);
  if ('const' in schema) return literal(schema['const']);
  if (values) return (values as unknown[]).map(literal).join(' | ');
  const either = (anyOf ?? oneOf) as readonly Json[] | undefined;
  if (either) return either.map((one) => typeOf(one, indent)).join(' | ');
  const types = (Array.isArray(type) ? type : [type]) as readonly (string | undefined)[];
  return types
    .map((one) => {
      if (one === 'object') return objectType(schema, indent);
      if (one === 'array') return `readonly ${grouped(typeOf((schema['items'] ?? {}) as Json, indent))}[]`;
      return (one && SCALARS[one]) ?? 'unknown';
    })
    .join(' | ');
};

const grouped = (type: string): string => (/^[^{].* \| /.test(type) ? `(${type})` : type);

const objectType = (schema: Json, indent: string): string => {
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Json>>);
  if (properties.length === 0) return 'Readonly<Record<string, unknown>>';
  const required = (schema['required'] ?? []) as readonly string[];
  const inner = `${indent}  `;
  const members = properties.map(([name, property]) =>
    member(name, property['description'], required.includes(name), typeOf(property, inner), inner),
  );
  return `{\n${members.join('')}${indent}}`;
};

/** Titles of schemas become names of types. */
export const pascalCase = (title: string): string =>
  title.replace(/(^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, _gap, first: string) => first.toUpperCase());

const pathMember = (path: string, { summary, parameters = [], responses }: Operation): string => {
  const inputs = parameters.map(({ name, description, required, schema }) =>
    member(name, description, required, typeOf(schema, '      '), '      '),
  );
  const input = inputs.length > 0 ? `{\n${inputs.join('')}    }` : 'Readonly<Record<string, never>>';
  const output = typeOf(responses['200']?.content['application/json']?.schema ?? {}, '    ');
  return `${comment(summary, '  ')}  readonly ${quoted(path)}: {\n    readonly input: ${input};\n    readonly output: ${output};\n  };\n`;
};

/** Returns the text of a module without imports. Equal documents give equal text. */
export const typescriptOf = ({ info, paths, components }: TypedDocument): string =>
  [
    `/** Types of the ${info.title} ${info.version}, written by \`metro-forecast types\` from its OpenAPI document. */\n`,
    ...Object.entries(components.schemas).map(
      ([title, schema]) =>
        `${comment(schema['description'], '')}export type ${pascalCase(title)} = ${typeOf(schema, '')};\n`,
    ),
    '/** The input of each path, with path and query parameters, and its output. */',
    `export interface Paths {\n${Object.entries(paths)
      .map(([path, { get }]) => pathMember(path, get))
      .join('')}}\n`,
  ].join('\n');
