// Prints the responses of a service: `node responses.js CONFIG`. Requests each mount and each route, without parameters
// and with the example of each parameter.
import { createApp } from 'metro-forecast-api';

const app = await createApp(process.argv[2]);
const responses = {};
const exampleOf = ({ schema, example }) => String(example ?? schema.default ?? schema.enum?.[0] ?? '');

for (const { path, parameters = {} } of app.local.routes) {
  const inPath = parameters.path ?? {};
  const query = Object.entries(parameters.query ?? {});
  const target = path.replace(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(exampleOf(inPath[name])));
  const required = query.filter(([, { required }]) => required).map(([name, each]) => [name, exampleOf(each)]);
  const queries = [required, ...query.map(([name, each]) => [...required, [name, exampleOf(each)]])];
  for (const pairs of queries) {
    const url = `${target}?${new URLSearchParams(Object.fromEntries(pairs))}`;
    const { status, body } = await app.local.request(url);
    responses[url] = [status, body];
  }
}
for (const { path } of app.local.mounts) {
  const { statusCode, body } = await app.inject(path);
  responses[path] = [statusCode, body];
}
await app.close();
process.stdout.write(JSON.stringify(responses));
