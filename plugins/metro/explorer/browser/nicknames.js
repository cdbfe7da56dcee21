/** Nicknames that do not appear in the titles of metros. Each line starts with a CBSA code. */
const TABLE = `
10580 capital district
10740 abq, duke city
10900 lehigh valley
11244 orange county
12060 atl, hotlanta
12420 atx
12580 charm city, bmore
12700 cape cod
13820 magic city
14260 treasure valley
14460 beantown
15380 nickel city
16700 lowcountry, holy city
16740 queen city, clt
16980 chi, chitown, chicagoland, windy city
17140 cincy
18140 cbus
19100 dfw, metroplex, north texas, big d
19340 quad cities
19740 mile high city, front range
19820 motor city, motown, metro detroit
20260 twin ports
20500 research triangle, raleigh durham
23104 cowtown
24660 piedmont triad
26420 htown, space city, bayou city
26620 rocket city
26900 indy, circle city
27260 jax, first coast
27740 tri cities
28140 kc, kcmo
28420 tri cities
28700 tri cities
29820 vegas, sin city
31080 la, socal, city of angels
31140 derby city
32580 rgv, rio grande valley
32820 bluff city
33100 south florida
33340 cream city, mke
33460 twin cities, msp
34980 music city, nashvegas
35004 long island
35084 north jersey
35380 nola, big easy, crescent city
35614 manhattan, brooklyn, queens, bronx
35620 nyc, new york city, big apple, tristate
36084 east bay
36260 wasatch front
36420 okc
36740 central florida
37340 space coast
37980 philly, delaware valley
38060 phx, valley of the sun
38300 steel city, pgh
38900 pdx, rose city
39580 research triangle, raleigh durham
40140 inland empire
40900 sactown
41180 stl, gateway city
41620 slc, wasatch front
41700 alamo city
41860 bay area, norcal, sf bay area
41884 sf, san fran
41940 silicon valley, south bay
42660 puget sound, seatac, emerald city
45300 tampa bay
46060 old pueblo
46140 green country
47260 hampton roads, tidewater
47900 dc, dmv
48424 palm beach
49180 piedmont triad
`;

/** @type {readonly (readonly [name: string, cbsa: string])[]} */
export const NICKNAMES = TABLE.trim()
  .split('\n')
  .flatMap((line) =>
    line
      .slice(6)
      .split(', ')
      .map((name) => /** @type {const} */ ([name, line.slice(0, 5)])),
  );
