/** callerAddress and normaliseAddress. */
import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { callerAddress, normaliseAddress } from '../../../core/http/caller-address.js';

describe('normaliseAddress', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0::ffff:192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['', undefined],
    ['unknown', undefined],
    ['192.0.2.256', undefined],
    ['192.0.2.1:80', undefined],
    ['_hidden', undefined],
  ];
  for (const [given, expected] of cases) {
    it(`normaliseAddress(${JSON.stringify(given)}) is ${expected}`, () => {
      expect(normaliseAddress(given)).to.equal(expected);
    });
  }
});

describe('callerAddress', () => {
  const message = (remoteAddress: string | undefined, forwarded?: string) =>
    ({
      socket: { remoteAddress },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    }) as unknown as IncomingMessage;

  it('callerAddress(0) believes the socket alone', () => {
    expect(callerAddress(0)(message('192.0.2.1', '203.0.113.9'))).to.equal('192.0.2.1');
  });

  it('callerAddress(1) takes the rightmost entry, never the leftmost', () => {
    expect(callerAddress(1)(message('192.0.2.1', '203.0.113.1, 203.0.113.9'))).to.equal('203.0.113.9');
  });

  it('callerAddress(2) counts two from the right', () => {
    expect(callerAddress(2)(message('192.0.2.1', '1.1.1.1, 203.0.113.9, 10.0.0.1'))).to.equal('203.0.113.9');
  });

  it('callerAddress(2) falls back to the socket where there are too few entries, or unreadable ones', () => {
    expect(callerAddress(2)(message('192.0.2.1', '203.0.113.9'))).to.equal('192.0.2.1');
    expect(callerAddress(1)(message('192.0.2.1', 'unknown'))).to.equal('192.0.2.1');
    expect(callerAddress(1)(message('192.0.2.1'))).to.equal('192.0.2.1');
  });

  it('is one for all whose connection has gone already', () => {
    expect(callerAddress(0)(message(undefined))).to.equal('unknown');
    expect(callerAddress(1)(message(undefined))).to.equal('unknown');
  });
});
