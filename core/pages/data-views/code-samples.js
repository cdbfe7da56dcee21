/**
 * Code samples that load data in Python and R. Text such as `01234` or `NA` stays text. Only empty cells become missing
 * values.
 * @typedef {{ urls: readonly string[], texts: readonly string[], keyVariable: string | undefined }} Sample `texts`:
 *   names of text columns; `keyVariable`: environment variable with the key, if the sample sends a key
 */

/** JSON strings are also valid string literals in Python and R. @param {string} value */
const quoted = (value) => JSON.stringify(value);

/** @param {Sample} sample */
export const pythonSample = ({ urls, texts, keyVariable }) => {
  const types = texts.length > 0 ? `dtype={${texts.map((name) => `${quoted(name)}: str`).join(', ')}}, ` : '';
  return [
    ...(keyVariable ? ['import os', ''] : []),
    'import pandas as pd',
    '',
    keyVariable
      ? `headers = {"Authorization": f"Bearer {os.environ['${keyVariable}']}", "Accept": "text/csv"}`
      : 'headers = {"Accept": "text/csv"}',
    ...urls.map(
      (url) =>
        `print(pd.read_csv(${quoted(url)}, storage_options=headers, ${types}keep_default_na=False, na_values=[""]))`,
    ),
  ].join('\n');
};

/** @param {Sample} sample */
export const rSample = ({ urls, texts, keyVariable }) => {
  const types =
    texts.length > 0 ? `colClasses = c(${texts.map((name) => `${quoted(name)} = "character"`).join(', ')}), ` : '';
  return [
    'library(httr2)',
    ...urls.map((url) =>
      [
        `request(${quoted(url)})`,
        ...(keyVariable ? [`req_auth_bearer_token(Sys.getenv(${quoted(keyVariable)}))`] : []),
        'req_headers(Accept = "text/csv")',
        'req_perform()',
        'resp_body_string()',
        'textConnection()',
        `read.csv(${types}na.strings = "")`,
      ].join(' |>\n  '),
    ),
  ].join('\n');
};
