import { expect } from 'chai';
import { partOf } from '../../../../core/app/create-app.js';
import * as fixture from '../../../support/fixture.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

describe('equivalent requests', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  const cached = () => partOf(service.app, 'snapshots').served!.responses.size;
  const [market] = fixture.documents['markets']! as readonly { readonly cbsa: string }[];

  for (const [what, targets] of [
    ['values in another order', ['/markets?state=TX,OK', '/markets?state=OK,TX', '/markets?state=OK,TX,OK']],
    [
      'blanks around values',
      ['/signals?signal=hold,expand', '/signals?signal=%20expand%20,+hold', '/signals?signal=expand,hold'],
    ],
    ['risk grades', ['/forecasts?risk_score=A,B', '/forecasts?risk_score=B,A,A']],
    ['fields', ['/markets?fields=cbsa,name', '/markets?fields=name,%20cbsa']],
    ['the default order', ['/markets?limit=2', '/markets?limit=2&sort=cbsa']],
    ['the default limit', ['/movers', '/movers?limit=5']],
    ['default fields', ['/markets/26420/history', '/markets/26420/history?fields=value,period_start']],
    ['the default format', ['/series', '/series?format=json']],
    ['the default units', ['/observations?series_id=UNRATE', '/observations?series_id=UNRATE&units=level']],
    [
      'a series twice',
      ['/observations?series_id=UNRATE,metro_hpi', '/observations?series_id=UNRATE,+metro_hpi,UNRATE'],
    ],
    [
      'spans outside the data',
      [
        '/observations?series_id=metro_hpi&units=log',
        '/observations?series_id=metro_hpi&units=log&since=1900-01-01',
        '/observations?series_id=metro_hpi&units=log&since=1901-02-03&until=2900-01-01',
      ],
    ],
    [
      'dates of several series outside the data',
      [
        '/observations?series_id=UNRATE,metro_hpi&units=yoy',
        '/observations?series_id=UNRATE,metro_hpi&units=yoy&since=1900-01-01',
      ],
    ],
    [
      'dates of a market outside the data',
      [`/markets/${market!.cbsa}/history`, `/markets/${market!.cbsa}/history?since=1900-01-01&until=2900-01-01`],
    ],
    [
      'dates between two periods',
      [
        `/observations?series_id=metro_hpi&cbsa=${market!.cbsa}&since=2025-04-01&until=2025-07-01`,
        `/observations?series_id=metro_hpi&cbsa=%20${market!.cbsa}%20&since=2025-01-02&until=2025-09-30`,
      ],
    ],
    [
      'spans after the data',
      ['/observations?series_id=UNRATE&since=2900-01-01', '/observations?series_id=UNRATE&since=2950-05-05'],
    ],
  ] as const) {
    it(`share a response: ${what}`, async () => {
      const before = cached();
      const bodies = new Set<string>();
      for (const target of targets) {
        const { status, text } = await service.get(target);
        expect(status, target).to.equal(200);
        bodies.add(text);
      }
      expect(bodies.size).to.equal(1);
      expect(cached() - before).to.be.at.most(1);
    });
  }

  it('requests for different rows have different responses', async () => {
    const texts = new Set<string>();
    for (const series of ['UNRATE,metro_hpi', 'metro_hpi,UNRATE', 'metro_hpi']) {
      texts.add((await service.get(`/observations?series_id=${series}`)).text);
    }
    for (const since of ['2025-04-01', '2025-04-02']) {
      texts.add((await service.get(`/observations?series_id=metro_hpi&since=${since}`)).text);
    }
    expect(texts.size).to.equal(5);
  });
});
