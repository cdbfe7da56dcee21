import { expect } from 'chai';
import { metroAreas } from '../../../../plugins/metro/areas.js';
import { pageModules } from '../../../support/page-modules.js';

const { searcher, namesIn, nearly, onlyOne, stateNamed, tellingName, optionsFor, NICKNAMES } = await pageModules(
  'plugins/metro/explorer/browser/search',
  'plugins/metro/explorer/browser/search-options',
  'plugins/metro/explorer/browser/nicknames',
);

const areas = [...metroAreas.values()];
/** FHFA's index contains the divisions of a metro instead of the metro. */
const markets = areas
  .filter(({ divisions }) => divisions.length === 0)
  .map(({ cbsa, name, kind }) => ({ cbsa, name: kind === 'division' ? `${name} (MSAD)` : name }));
const parents = new Map(
  areas.flatMap(({ cbsa, parent }) => (parent ? [[cbsa, `${parent} ${metroAreas.get(parent)!.name}`]] : [])),
);
const find: (query: string) => { cbsa: string; name: string }[] = searcher(markets, parents);
const first = (query: string) => find(query)[0]?.name;

describe('a list of names', () => {
  for (const [text, names] of [
    ['Boise', ['Boise']],
    ['boise, austin; UNRATE', ['boise', 'austin', 'UNRATE']],
    ['Austin, TX, Boise City, ID', ['Austin, TX', 'Boise City, ID']],
    ['Kansas City, MO-KS, Ohio,', ['Kansas City, MO-KS', 'Ohio']],
    ['TX, Austin', ['TX', 'Austin']],
    [' , ', []],
  ] as const) {
    it(`"${text}" is split into ${JSON.stringify(names)}`, () => expect(namesIn(text)).to.deep.equal(names));
  }
});

describe('the explorer’s search', () => {
  it('finds the divisions of a divided metro by its code', () => {
    const { divisions } = metroAreas.get('35620')!;
    expect(find('35620').map(({ cbsa }) => cbsa)).to.have.members([...divisions]);
    expect(find('35629')).to.deep.equal([]);
  });

  for (const [query, expected] of [
    ['Houston, TX', /^Houston/],
    ['houston tx', /^Houston/],
    ['New York, NY', /^New York-Jersey City/],
    ['new york', /^New York-Jersey City/],
    ['Chicago, IL', /^Chicago/],
    ['chicago illinois', /^Chicago/],
    ['26420', /^Houston/],
    ['kansas city', /^Kansas City/],
    ['portland or', /^Portland-.*OR/],
    ['portland, me', /^Portland.*ME/],
    ['washington dc', /^Washington/],
    ['winston-salem', /^Winston-Salem/],
    ['st louis', /^St\. Louis/],
    ['los angeles ca', /^Los Angeles/],
    ['san franciso', /^San Francisco/],
    ['pheonix', /^Phoenix/],
    ['philidelphia', /Philadelphia/],
    ['albuqerque', /^Albuquerque/],
    ['nyc', /^New York-Jersey City/],
    ['bay area', /^San Francisco/],
    ['twin cities', /^Minneapolis/],
    ['saint louis', /^St\. Louis/],
    ['saint paul', /^Minneapolis-St\. Paul/],
    ['ft lauderdale', /^Fort Lauderdale/],
    ['dfw', /^Dallas-Plano/],
    ['la', /^Los Angeles/],
    ['philly', /^Philadelphia/],
    ['brooklyn', /^New York-Jersey City/],
    ['silicon val', /^San Jose/],
  ] as const) {
    it(`finds ${query}`, () => expect(first(query)).to.match(expected));
  }

  for (const [query, expected] of [
    ['columbus', undefined],
    ['portland', undefined],
    ['san', undefined],
    ['columbus oh', 'Columbus, OH'],
    ['houston', 'Houston'],
    ['new york, ny', 'New York-Jersey City'],
    ['new york 2021', 'New York-Jersey City'],
    ['26420', 'Houston'],
  ] as const) {
    it(`interprets ${query} as ${expected ?? 'more than one market'}`, () => {
      expect(onlyOne(query, find(query))?.name.slice(0, expected?.length)).to.equal(expected);
    });
  }

  it('has nicknames only for existing metros', () => {
    for (const [name, cbsa] of NICKNAMES) expect(metroAreas.has(cbsa), `${name} ${cbsa}`).to.equal(true);
  });

  const series = [
    { series_id: 'UNRATE', title: 'Unemployment Rate', kind: 'macro' },
    { series_id: 'DGS10', title: 'Market Yield on 10-Year Treasury Securities', kind: 'macro' },
    { series_id: 'FEDFUNDS', title: 'Federal Funds Effective Rate', kind: 'macro' },
    { series_id: 'CPIAUCSL', title: 'Consumer Price Index', kind: 'macro' },
    { series_id: 'HSN1F', title: 'New One Family Houses Sold: United States', kind: 'macro' },
    { series_id: 'metro_hpi', title: 'FHFA House Price Index', kind: 'metro' },
  ];
  const offered = (query: string): string[] =>
    optionsFor(query, { markets, parents, areas, series }).options.map(({ address }: { address: string }) => address);

  for (const [query, expected] of [
    ['new york', '#/markets/35614'],
    ['washington', '#/markets/47764'],
    ['la', '#/markets/31084'],
    ['ohio', '#/markets?state=OH'],
    ['kansas', '#/markets?state=KS'],
    ['TX', '#/markets?state=TX'],
    ['unrate', '#/series/UNRATE'],
    ['unemployment', '#/series/UNRATE'],
    ['35620', '#/markets?q=35620'],
    ['26420', '#/markets/26420'],
    ['grade f', '#/markets?grade=F'],
    ['Risk F', '#/markets?grade=F'],
    ['grade', '#/markets?sort=grade&colour=grade'],
    ['falling', '#/markets?sort=forecast'],
    ['ohio grade a', '#/markets?state=OH&grade=A'],
    ['Ohio graded A', '#/markets?state=OH&grade=A'],
    ['metros in Ohio graded A', '#/markets?state=OH&grade=A'],
    ['Ohio metros with grade A', '#/markets?state=OH&grade=A'],
    ['Boise in 2021', '#/markets/14260'],
    ['boise since 2008', '#/markets/14260'],
    ['Austin, Houston, Phoenix real since 2008', '#/compare?m=12420,26420,38060&real=1&from=2008'],
    ['boise vs austin in real terms', '#/compare?m=14260,12420&real=1'],
    ['signal expand', '#/markets?signal=expand'],
    ['boise vs austin', '#/compare?m=14260,12420'],
    ['Boise, Austin, Houston', '#/compare?m=14260,12420,26420'],
    ['Boise, Austin, Boise', '#/compare?m=14260,12420'],
    ['Minneapolis and St. Paul', '#/markets/33460'],
    ['New York, New York', '#/markets/35614'],
    ['Austin, TX', '#/markets/12420'],
    ['inflation', '#/series/CPIAUCSL'],
    ['interest rate', '#/series/FEDFUNDS'],
    ['home prices', '#/series/metro_hpi'],
    ['rate', '#/series/UNRATE'],
    ['houston house prices', '#/markets/26420'],
    ['boise forecast', '#/markets/14260'],
    ['metros in ohio', '#/markets?state=OH'],
    ['columbus in', '#/markets/18020'],
    ['  BOISE  ', '#/markets/14260'],
    ['san josé', '#/markets/41940'],
    ['bosie', '#/markets/14260'],
    // Nothing matches. A similar name would be wrong.
    ['help', undefined],
    ['grade e', undefined],
    ['top 10', undefined],
    ['ada county', undefined],
    ['mortgage rate', undefined],
    ['united states', undefined],
  ] as const) {
    it(`suggests ${expected ?? 'nothing'} first for ${query}`, () => expect(offered(query)[0]).to.equal(expected));
  }

  for (const [query, expected] of [
    ['boise', '#/markets/14260'],
    ['boise 2021', '#/markets/14260'],
    ['portland me', '#/markets/38860'],
    ['ohio', '#/markets?state=OH'],
    ['unrate', '#/series/UNRATE'],
    ['portland', undefined],
    ['san', undefined],
    ['nowhere at all', undefined],
  ] as const) {
    it(`opens ${expected ?? 'the list'} for a search of ${query} on the front page`, () => {
      expect(optionsFor(query, { markets, parents, areas, series }).sure?.address).to.equal(expected);
    });
  }

  it('counts the markets of a state', () => {
    const details = (query: string): string[] =>
      optionsFor(query, { markets, parents, areas, series }).options.map(({ detail }: { detail: string }) => detail);
    expect(details('rhode island')).to.include('state, 1 market');
    expect(details('wyoming')).to.include('state, 2 markets');
  });

  it('offers the state and the divided metro after the city, and the divisions after their metro', () => {
    expect(offered('new york')).to.include.members(['#/markets?state=NY', '#/markets?q=35620']);
    const { divisions } = metroAreas.get('35620')!;
    expect(offered('35620')).to.include.members(divisions.map((cbsa) => `#/markets/${cbsa}`));
    expect(offered('nowhere at all')).to.deep.equal([]);
  });

  it('distinguishes states from cities, and cities with the same name by their states', () => {
    expect(['ohio', 'OH', 'West Virginia', 'houston', 'houston tx'].map((query) => stateNamed(query))).to.deep.equal([
      ...['OH', 'OH', 'WV', undefined, undefined],
    ]);
    expect(tellingName('Columbus, OH', markets)).to.equal('Columbus, OH');
    expect(tellingName('Albuquerque, NM', markets)).to.equal('Albuquerque');
  });

  it('matches two letters with a state, not with the middle of a name', () => {
    const names = find('NY').map(({ name }) => name);
    expect(names).to.have.length.above(10);
    for (const name of names) expect(name).to.match(/, .*NY/);
  });

  it('matches all markets of a state by its name', () => {
    expect(find('texas').map(({ cbsa }) => cbsa)).to.include.members(
      markets.filter(({ name }) => /, .*\bTX/.test(name)).map(({ cbsa }) => cbsa),
    );
    expect(find('west virginia').every(({ name }) => name.includes('WV'))).to.equal(true);
  });

  it('finds divisions by the name of their metro', () => {
    expect(find('dallas-fort worth-arlington').map(({ name }) => name)).to.include.members(
      markets.filter(({ cbsa }) => parents.get(cbsa)?.startsWith('Dallas')).map(({ name }) => name),
    );
  });

  it('finds nothing for nonsense, and all markets for an empty query', () => {
    expect(find('zzzz')).to.deep.equal([]);
    expect(find(' , ')).to.have.length(markets.length);
  });

  it('allows no typo in words of fewer than four letters, one in words of four to seven, and two in longer words', () => {
    for (const [typed, word, expected] of [
      ['grade', 'grapevine', false],
      ['philad', 'philadelphia', true],
      ['philed', 'philadelphia', true],
      ['bose', 'boise', true],
      ['bosie', 'boise', true],
      ['boisse', 'boise', true],
      ['bxxse', 'boise', false],
      ['phonix', 'phoenix', true],
      ['albuqurqe', 'albuquerque', true],
      ['akn', 'akron', false],
      ['oakron', 'akron', false],
    ] as const) {
      expect(nearly(typed, word), `${typed} ${word}`).to.equal(expected);
    }
  });
});
