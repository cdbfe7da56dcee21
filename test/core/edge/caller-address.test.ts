import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { callerAddress, normaliseAddress } from '../../../core/edge/caller-address.js';

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

  it("callerAddress(0) uses the socket's address only", () => {
    expect(callerAddress(0)(message('192.0.2.1', '203.0.113.9'))).to.equal('192.0.2.1');
  });

  it('callerAddress(1) takes the rightmost entry, never the leftmost', () => {
    expect(callerAddress(1)(message('192.0.2.1', '203.0.113.1, 203.0.113.9'))).to.equal('203.0.113.9');
  });

  it('callerAddress(2) counts two from the right', () => {
    expect(callerAddress(2)(message('192.0.2.1', '1.1.1.1, 203.0.113.9, 10.0.0.1'))).to.equal('203.0.113.9');
  });

  it("callerAddress(2) uses the socket's address if there are too few entries or invalid entries", () => {
    expect(callerAddress(2)(message('192.0.2.1', '203.0.113.9'))).to.equal('192.0.2.1');
    expect(callerAddress(1)(message('192.0.2.1', 'unknown'))).to.equal('192.0.2.1');
    expect(callerAddress(1)(message('192.0.2.1'))).to.equal('192.0.2.1');
  });

  for (const [entry, address] of [
    ['203.0.113.9:49152', '203.0.113.9'],
    ['203.0.113.9:0', '203.0.113.9'],
    ['[2001:db8:0:1::9]:443', '2001:db8:0:1::/64'],
    ['[2001:db8:0:1::9]', '2001:db8:0:1::/64'],
    ['[::ffff:203.0.113.9]:443', '203.0.113.9'],
    ['2001:db8:0:1::9', '2001:db8:0:1::/64'],
    ['203.0.113.9:123456', '192.0.2.1'],
    ['203.0.113.9:', '192.0.2.1'],
    ['[2001:db8::1', '192.0.2.1'],
    ['[]:80', '192.0.2.1'],
  ] as const) {
    it(`callerAddress(1) of X-Forwarded-For: ${entry} is ${address}`, () => {
      expect(callerAddress(1)(message('192.0.2.1', `198.51.100.1, ${entry}`))).to.equal(address);
      expect(callerAddress(2)(message('192.0.2.1', `${entry}, 10.0.0.1`))).to.equal(address);
    });
  }

  describe('callerAddress(networks)', () => {
    const networks = ['10.0.0.0/8', '192.168.1.7', 'fd00::/8', '::ffff:172.16.0.0/108'];
    const addressOf = callerAddress(networks);
    for (const [socket, header, address, why] of [
      ['10.1.2.3', '203.0.113.9', '203.0.113.9', 'the entry that a proxy wrote'],
      ['10.1.2.3', '198.51.100.1, 203.0.113.9, 10.9.9.9', '203.0.113.9', 'the rightmost entry that is no proxy'],
      ['10.1.2.3', '203.0.113.9, 10.9.9.9:4711, [fd00::7]:80', '203.0.113.9', 'an entry before proxies with ports'],
      ['::ffff:10.1.2.3', '203.0.113.9, ::ffff:192.168.1.7', '203.0.113.9', 'IPv4-mapped proxies'],
      ['172.31.255.255', '203.0.113.9', '203.0.113.9', 'a network that is written IPv4-mapped'],
      ['172.32.0.0', '203.0.113.9', '172.32.0.0', 'the address after a network'],
      ['fd12::1', '2001:db8:0:1::9', '2001:db8:0:1::/64', 'IPv6'],
      ['fe80::1%eth0', '203.0.113.9', 'fe80:0:0:0::/64', 'an IPv6 client that is not a proxy'],
      ['192.168.1.8', '203.0.113.9', '192.168.1.8', 'a client that is not a proxy'],
      ['203.0.113.50', '10.0.0.1', '203.0.113.50', 'a stranger who claims to be a proxy'],
      ['10.1.2.3', '10.7.7.7, 10.9.9.9', '10.7.7.7', 'a caller who is in a trusted network'],
      ['10.1.2.3', '203.0.113.9, unknown, 10.9.9.9', '10.9.9.9', 'a proxy that writes no address'],
      ['10.1.2.3', '203.0.113.9, ', '10.1.2.3', 'an empty entry'],
      ['10.1.2.3', undefined, '10.1.2.3', 'no header'],
      [undefined, '203.0.113.9', 'unknown', 'a closed connection'],
    ] as const) {
      it(`of ${socket} with ${header} is ${address}: ${why}`, () => {
        expect(addressOf(message(socket, header))).to.equal(address);
      });
    }

    it('reads at most 16 entries', () => {
      const entries = Array.from({ length: 4000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
      expect(addressOf(message('10.1.2.3', entries.join()))).to.equal(entries.at(-16));
    });
  });

  it('is the same for all closed connections', () => {
    expect(callerAddress(0)(message(undefined))).to.equal('unknown');
    expect(callerAddress(1)(message(undefined))).to.equal('unknown');
  });
});
