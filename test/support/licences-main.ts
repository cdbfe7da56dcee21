/** `npm run licenses` lists the packages that are installed with the service, by licence. */
import { installedPackages, PERMISSIVE } from './licences.js';

const packages = (await installedPackages()).filter(({ development }) => !development);
const licences = [...new Set(packages.map(({ licence }) => licence))].sort();
for (const licence of licences) {
  const of = packages.filter((each) => each.licence === licence);
  process.stdout.write(
    `${licence} (${of.length})${PERMISSIVE.has(licence) ? '' : ', not on the list of permissive ones'}\n`,
  );
  for (const { name, version } of of) process.stdout.write(`  ${name} ${version}\n`);
}
process.exitCode = licences.every((licence) => PERMISSIVE.has(licence)) ? 0 : 1;
