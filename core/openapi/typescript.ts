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

/**
 * Returns the TypeScript type of a schema. Ignores keywords that TypeScript cannot express, such as bounds and
 * patterns.
 */
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

const membersOf = (schema: Json, indent: string): string[] => {
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Json>>);
  const required = (schema['required'] ?? []) as readonly string[];
  return properties.map(([name, property]) =>
    member(name, property['description'], required.includes(name), typeOf(property, indent), indent),
  );
};

const objectType = (schema: Json, indent: string, members = membersOf(schema, `${indent}  `)): string => {
  if (members.length === 0) return 'Readonly<Record<string, unknown>>';
  const [only] = members.length === 1 ? members : [];
  return only && !only.includes('/**') ? `{ ${only.trim().slice(0, -1)} }` : `{\n${members.join('')}${indent}}`;
};

export const pascalCase = (title: string): string =>
  title.replace(/(^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, _gap, first: string) => first.toUpperCase());

const parameterMember = ({ name, description, required, schema }: ParameterObject, indent: string): string =>
  member(name, description, required, typeOf(schema, indent), indent);

/** If several shared parameters have the same name, the most common one is returned. */
const sharedParameters = (operations: readonly Operation[]): ReadonlyMap<string, string> => {
  const counts = new Map<string, { readonly name: string; count: number }>();
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters)) {
    const text = parameterMember(parameter, '  ');
    const known = counts.get(text);
    if (known) known.count++;
    else counts.set(text, { name: parameter.name, count: 1 });
  }
  const shared = [...counts].filter(([, { count }]) => count > 1).sort(([, a], [, b]) => a.count - b.count);
  return new Map(shared.map(([text, { name }]) => [name, text]));
};

const inputOf = (parameters: readonly ParameterObject[], shared: ReadonlyMap<string, string>): string => {
  const isShared = (parameter: ParameterObject) => shared.get(parameter.name) === parameterMember(parameter, '  ');
  const picked = parameters.filter(isShared).map(({ name }) => quoted(name));
  const own = parameters.filter((parameter) => !isShared(parameter)).map((each) => parameterMember(each, '      '));
  const types = [
    ...(picked.length > 0 ? [`Pick<SharedParameters, ${picked.join(' | ')}>`] : []),
    ...(own.length > 0 ? [`{\n${own.join('')}    }`] : []),
  ];
  return types.join(' & ') || 'Readonly<Record<string, never>>';
};

const pathMember = (
  path: string,
  { summary, parameters = [], responses }: Operation,
  shared: ReadonlyMap<string, string>,
): string => {
  const output = typeOf(responses['200']?.content['application/json']?.schema ?? {}, '    ');
  return `${comment(summary, '  ')}  readonly ${quoted(path)}: {\n    readonly input: ${inputOf(parameters, shared)};\n    readonly output: ${output};\n  };\n`;
};

const schemaTypes = (schemas: TypedDocument['components']['schemas']): string[] => {
  const all = Object.entries(schemas).map(([title, schema]) => ({ title, schema, members: membersOf(schema, '  ') }));
  const objects = all.filter(({ schema, members }) => schema['type'] === 'object' && members.length > 1);
  return all.map(({ title, schema, members }) => {
    const [base] = objects
      .filter((each) => each.members.length < members.length)
      .filter((each) => each.members.every((one) => members.includes(one)))
      .sort((a, b) => b.members.length - a.members.length);
    const own = members.filter((one) => !base?.members.includes(one));
    const type = base ? `${pascalCase(base.title)} & ${objectType(schema, '', own)}` : typeOf(schema, '');
    return `${comment(schema['description'], '')}export type ${pascalCase(title)} = ${type};\n`;
  });
};

export const typescriptOf = ({ info, paths, components }: TypedDocument): string => {
  const shared = sharedParameters(Object.values(paths).map(({ get }) => get));
  return [
    `/** Types of the ${info.title} ${info.version}, written by \`metro-forecast types\` from its OpenAPI document. */\n`,
    ...schemaTypes(components.schemas),
    ...(shared.size > 0
      ? [
          '/** Parameters shared by several paths. */',
          `interface SharedParameters {\n${[...shared.values()].join('')}}\n`,
        ]
      : []),
    '/** The input (path and query parameters) and output of each path. */',
    `export interface Paths {\n${Object.entries(paths)
      .map(([path, { get }]) => pathMember(path, get, shared))
      .join('')}}\n`,
  ].join('\n');
};
