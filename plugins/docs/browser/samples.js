import { keyVariable } from '../../../core/pages/shared/api.js';

/**
 * @typedef {{ url: string, query: readonly (readonly [name: string, value: string])[], sendsKey: boolean, text: boolean
 *   }} Call
 */

/** JSON strings are also valid string literals in JavaScript, Python and R. @param {string} value */
const quoted = (value) => JSON.stringify(value);
/** @param {string} value */
const word = (value) => (/^[\w.,:/=@%+-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`);

/** @param {Call} call */
const curl = ({ url, query, sendsKey }) =>
  [
    `curl ${query.length > 0 ? '--get ' : ''}${word(url)}`,
    ...query.map(([name, value]) => `--data-urlencode ${word(`${name}=${value}`)}`),
    ...(sendsKey ? [`--header "Authorization: Bearer $${keyVariable}"`] : []),
  ].join(' \\\n  ');

/** @param {Call} call */
const python = ({ url, query, sendsKey, text }) =>
  [
    ...(sendsKey ? ['import os', ''] : []),
    'import requests',
    '',
    ...(sendsKey ? [`key = os.environ[${quoted(keyVariable)}]`] : []),
    'response = requests.get(',
    `    ${quoted(url)},`,
    ...(query.length > 0
      ? [`    params={${query.map(([name, value]) => `${quoted(name)}: ${quoted(value)}`).join(', ')}},`]
      : []),
    ...(sendsKey ? ['    headers={"Authorization": f"Bearer {key}"},'] : []),
    '    timeout=30,',
    ')',
    'response.raise_for_status()',
    `print(response.${text ? 'text' : 'json()'})`,
  ].join('\n');

/** In R, names such as `price[gte]` need backticks. @param {string} name */
const argument = (name) => (/^[A-Za-z.][\w.]*$/.test(name) ? name : `\`${name}\``);

/** @param {Call} call */
const r = ({ url, query, sendsKey, text }) =>
  [
    'library(httr2)',
    '',
    [
      `request(${quoted(url)})`,
      ...(query.length > 0
        ? [`req_url_query(${query.map(([name, value]) => `${argument(name)} = ${quoted(value)}`).join(', ')})`]
        : []),
      ...(sendsKey ? [`req_auth_bearer_token(Sys.getenv(${quoted(keyVariable)}))`] : []),
      'req_perform()',
      ...(text ? ['resp_body_string()', 'cat()'] : ['resp_body_json()', 'str()']),
    ].join(' |>\n  '),
  ].join('\n');

/** @param {Call} call */
const typescript = ({ url, query, sendsKey, text }) =>
  [
    ...(sendsKey ? [`const key = process.env.${keyVariable};`] : []),
    `const url = new URL(${quoted(url)});`,
    ...query.map(([name, value]) => `url.searchParams.set(${quoted(name)}, ${quoted(value)});`),
    '',
    ...(sendsKey
      ? [`const response = await fetch(url, {\n  headers: { Authorization: \`Bearer \${key}\` },\n});`]
      : ['const response = await fetch(url);']),
    'if (!response.ok) throw new Error(await response.text());',
    `console.log(await response.${text ? 'text' : 'json'}());`,
  ].join('\n');

/** @type {Readonly<Record<string, { name: string, write: (call: Call) => string }>>} */
export const LANGUAGES = {
  curl: { name: 'curl', write: curl },
  python: { name: 'Python', write: python },
  r: { name: 'R', write: r },
  typescript: { name: 'TypeScript', write: typescript },
};
