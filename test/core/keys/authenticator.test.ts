import { expect } from 'chai';
import fc from 'fast-check';
import type { KeyRecord } from '../../../core/contracts/keys.js';
import { Authenticator } from '../../../core/keys/authenticator.js';
import { createKey, hashKey, Peppers } from '../../../core/keys/key.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { newRecord } from '../../support/key-record.js';

const START = Date.parse('2026-01-01T00:00:00Z');

class CountingStore extends MemoryKeyStore {
  asked = 0;

  override lookup(hash: string): KeyRecord | undefined {
    this.asked++;
    return super.lookup(hash);
  }
}

const setUp = () => {
  const store = new CountingStore();
  const clock = { time: START, now: () => clock.time };
  const ring = new Authenticator(store, { tiers: ['enterprise'], clock });
  const issue = async (change: Partial<KeyRecord> = {}) => {
    const { key, hash, id } = createKey();
    const record: KeyRecord = {
      id,
      hash,
      name: 'test',
      tier: 'enterprise',
      limit_per_minute: null,
      created_at: '2025-01-01T00:00:00Z',
      expires_at: null,
      revoked_at: null,
      ...change,
    };
    await store.insert(record);
    return { key, record, header: `Bearer ${key}` };
  };
  return { store, clock, ring, issue };
};

describe('Authenticator.identify(authorization)', () => {
  it('returns the record of a key', async () => {
    const { ring, issue } = setUp();
    const { header, record } = await issue();
    const rest = {
      account: `key:${record.id}`,
      endsAt: Number.POSITIVE_INFINITY,
      use: { time: START },
      caller: undefined,
    };
    expect(ring.identify(header)).to.deep.equal({ kind: 'key', record, ...rest });
  });

  it('accepts the scheme in any case and several spaces after it', async () => {
    const { ring, issue } = setUp();
    const { key } = await issue();
    for (const header of [`bearer ${key}`, `BEARER ${key}`, `bEaReR   ${key}`]) {
      expect(ring.identify(header).kind, header).to.equal('key');
    }
  });

  it('returns "missing" for an absent, empty or blank header', () => {
    const { ring } = setUp();
    for (const header of [undefined, '', ' ', '\t ']) expect(ring.identify(header).kind).to.equal('none');
  });

  it('returns "invalid" for other headers', async () => {
    const { ring, issue } = setUp();
    const { key } = await issue();
    const headers = [
      key,
      'Bearer',
      'Bearer ',
      `Bearer${key}`,
      `Bearer\t${key}`,
      `Bearer ${key} `,
      `Bearer ${key},`,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer ${key} ${key}`,
      `Bearer "${key}"`,
      `Bearer token=${key}`,
      `Bearer ${key}=`,
      `Basic ${key}`,
      `Token ${key}`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${createKey().key}`,
      'Bearer __proto__',
    ];
    for (const header of headers) expect(ring.identify(header).kind, header).to.equal('invalid');
  });

  it('never throws for random text', () => {
    const { ring } = setUp();
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(ring.identify(`Bearer ${text}`).kind).to.equal('invalid');
        expect(ring.identify(text).kind).to.equal(text.trim() === '' ? 'none' : 'invalid');
      }),
    );
  });

  it('rejects revoked keys, expired keys and keys of unknown tiers', async () => {
    const { ring, issue } = setUp();
    const refused: Partial<KeyRecord>[] = [
      { revoked_at: '2025-06-01T00:00:00Z' },
      // The clock of the replica that revoked this key is ahead.
      { revoked_at: '2026-06-01T00:00:00Z' },
      { expires_at: '2026-01-01T00:00:00Z' },
      { expires_at: 'no date' },
      { tier: 'free' },
      { tier: 'Enterprise' },
    ];
    for (const change of refused) {
      expect(ring.identify((await issue(change)).header).kind, JSON.stringify(change)).to.equal('invalid');
    }
  });

  it('rejects a key from the moment of its expiry, even if it is cached', async () => {
    const { ring, clock, issue } = setUp();
    const { header } = await issue({ expires_at: '2026-01-01T00:00:10Z' });
    expect(ring.identify(header).kind).to.equal('key');
    clock.time = START + 9_999;
    expect(ring.identify(header).kind).to.equal('key');
    clock.time = START + 10_000;
    expect(ring.identify(header).kind).to.equal('invalid');
  });

  it('accepts keys with any configured pepper and keys without a pepper, but no other keys', async () => {
    const { store, clock } = setUp();
    const versions = { '1': 'first '.repeat(6), '2': 'second '.repeat(6) };
    const ring = (secrets: Readonly<Record<string, string>>) =>
      new Authenticator(store, { tiers: ['enterprise'], clock, peppers: new Peppers(secrets) });
    const made: string[] = [];
    for (const secrets of [{}, { '1': versions['1'] }, versions]) {
      const { key, ...kept } = createKey(new Peppers(secrets));
      await store.insert(newRecord(kept));
      made.push(`Bearer ${key}`);
    }
    const kinds = (secrets: Readonly<Record<string, string>>) => {
      const configured = ring(secrets);
      return made.map((header) => configured.identify(header).kind);
    };
    expect(kinds(versions)).to.deep.equal(['key', 'key', 'key']);
    expect(kinds({ '1': versions['1'] })).to.deep.equal(['key', 'key', 'invalid']);
    expect(kinds({})).to.deep.equal(['key', 'invalid', 'invalid']);
  });

  it('looks up an unknown key once per pepper and once without, and a cached key never', async () => {
    const { store, clock, issue } = setUp();
    const peppers = new Peppers({ '1': 'first '.repeat(6), '2': 'second '.repeat(6) });
    const ring = new Authenticator(store, { tiers: ['enterprise'], clock, peppers });
    ring.identify(`Bearer ${createKey().key}`);
    expect(store.asked).to.equal(3);
    const { header } = await issue();
    for (let i = 0; i < 5; i++) ring.identify(header);
    expect(store.asked).to.equal(6);
  });

  it('looks up each of many keys once', async () => {
    const { ring, store, issue } = setUp();
    const headers: string[] = [];
    for (let i = 0; i < 50; i++) headers.push((await issue()).header);
    for (let i = 0; i < 5; i++) for (const header of headers) ring.identify(header);
    expect(store.asked).to.equal(50);
  });

  it('does not look up keys with a wrong checksum, other schemes and empty headers', () => {
    const { ring, store } = setUp();
    for (const header of [`Bearer mfk_${'A'.repeat(49)}`, 'Basic x', 'Bearer', '']) ring.identify(header);
    expect(store.asked).to.equal(0);
  });

  it('looks up keys of another form by their hash', async () => {
    const { ring, issue } = setUp();
    const own = 'sk-7f.9';
    const { record } = await issue({ hash: hashKey(own) });
    expect(ring.identify(`Bearer ${own}`)).to.deep.include({ kind: 'key', record });
    expect(ring.identify('Bearer sk-7f.8').kind).to.equal('invalid');
  });

  it('does not cache rejected headers', async () => {
    const { ring, store } = setUp();
    const header = `Bearer ${createKey().key}`;
    ring.identify(header);
    ring.identify(header);
    expect(store.asked).to.equal(2);
  });

  it('caches one spelling of the header per key, which bounds the memory', async () => {
    const { ring, store, issue } = setUp();
    const { key } = await issue();
    for (const scheme of ['bearer ', 'BEARER ', 'Bearer  ', `Bearer${' '.repeat(200)}`]) {
      store.asked = 0;
      for (let i = 0; i < 3; i++) expect(ring.identify(`${scheme}${key}`).kind).to.equal('key');
      expect(store.asked).to.equal(3);
    }
  });

  it('applies a revocation and a changed limit at the next request', async () => {
    const { ring, store, issue } = setUp();
    const { header, record } = await issue();
    ring.identify(header);
    await store.update(record.id, { limit_per_minute: 5 });
    expect(ring.identify(header))
      .to.deep.include({ kind: 'key' })
      .and.have.nested.property('record.limit_per_minute', 5);
    await store.update(record.id, { revoked_at: '2026-01-01T00:00:00Z' });
    expect(ring.identify(header).kind).to.equal('invalid');
  });

  it('records the time of requests with an active key only', async () => {
    const uses = new Map<string, { time: number }>();
    const { store, clock, issue } = setUp();
    const ring = new Authenticator(store, {
      tiers: ['enterprise'],
      clock,
      useOf: (id) => {
        const use = { time: 0 };
        uses.set(id, use);
        return use;
      },
    });
    const { header, record } = await issue({ expires_at: '2026-01-01T00:00:10Z' });
    const revoked = await issue({ revoked_at: '2025-06-01T00:00:00Z' });
    for (const authorization of [header, revoked.header, undefined, 'Bearer x']) ring.identify(authorization);
    expect([...uses]).to.deep.equal([[record.id, { time: START }]]);
    clock.time = START + 9000;
    ring.identify(header);
    clock.time = START + 10_000;
    ring.identify(header);
    expect([...uses]).to.deep.equal([[record.id, { time: START + 9000 }]]);
  });
});
