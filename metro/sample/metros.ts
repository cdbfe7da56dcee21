/** The sample's metro areas. */
import { type MetroArea, metroAreas } from '../areas.js';

// biome-ignore format: codes in lines of ten
const CODES = [
  '12060', '12420', '12580', '14260', '14460', '16740', '16980', '17410', '18140', '19100',
  '19740', '19820', '26420', '26900', '28140', '29820', '31080', '33100', '33340', '33460',
  '34980', '35620', '36740', '37980', '38060', '38300', '38900', '39300', '39580', '40140',
  '41180', '41620', '41700', '41740', '41860', '41980', '42660', '45300', '46520', '47900',
];

export const SAMPLE_METROS: readonly MetroArea[] = CODES.map((cbsa) => metroAreas.get(cbsa) as MetroArea);
