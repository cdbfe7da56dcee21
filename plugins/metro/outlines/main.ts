/** `npm run map` writes the outlines for the maps of the explorer. */
import { writeFile } from 'node:fs/promises';
import { buildOutlines } from './outlines.js';

const map = await buildOutlines();
await writeFile('plugins/metro/explorer/browser/map.json', `${JSON.stringify(map)}\n`);
const points = Object.values(map.areas).filter(([outline]) => outline === '').length;
console.log(`${Object.keys(map.areas).length} areas, ${points} of them points.`);
