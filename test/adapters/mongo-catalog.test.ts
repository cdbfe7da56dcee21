import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { failsWith } from '../../adapters/conformance/expect.js';
import { Catalog, isMove, type Publication } from '../../adapters/mongo/catalog.js';
import { openDatabase, type TestDatabase } from './mongo-database.js';

const LONG = 60_000;

describe('the catalog in MongoDB', () => {
  let database: TestDatabase;
  let catalog: Catalog;
  let second = 0;
  beforeEach(async () => {
    database = await openDatabase();
    catalog = new Catalog(database.connection);
  });
  afterEach(() => database.end());

  const publish = async (version: string): Promise<Publication> => {
    const locked = await catalog.lock('publisher', LONG);
    const publication = { id: locked!.sequence, version, publishedAt: new Date(1000 * ++second) };
    expect(await catalog.commit('publisher', publication, locked!.current)).to.equal(true);
    return publication;
  };

  it('is empty before the first lock', async () => {
    expect(await catalog.read()).to.deep.equal({
      _id: 'catalog',
      sequence: 0,
      lock: null,
      current: null,
      versions: [],
      moves: [],
    });
    expect(await catalog.current()).to.equal(undefined);
    expect(await catalog.countLock(0)).to.equal(false);
  });

  it('changes nothing while it is empty', async () => {
    const publication = { id: 1, version: '1', publishedAt: new Date(0) };
    expect(await catalog.renew('publisher', LONG)).to.equal(false);
    expect(await catalog.commit('publisher', publication, null)).to.equal(false);
    expect(await catalog.activate(publication, null)).to.equal(false);
    expect(await catalog.remove(publication)).to.equal(false);
    await catalog.unlock('publisher');
    expect(await database.connection.db.collection('catalog').countDocuments()).to.equal(0);
  });

  it('starts ids at the current time, and assigns each id once, with the lock', async () => {
    const before = Date.now();
    const first = await catalog.lock('first', LONG);
    expect(first!.sequence).to.be.within(before + 1, Date.now() + 1);
    expect(first!.lock).to.include({ owner: 'first', id: first!.sequence });
    expect(+first!.lock!.expires - before).to.be.within(LONG - 5000, LONG + 10_000);
    await catalog.unlock('first');
    const next = await catalog.lock('second', LONG);
    expect(next!.sequence).to.equal(first!.sequence + 1);
    expect(next!.lock!.id).to.equal(next!.sequence);
  });

  it('has at most one lock, which is released or expires', async () => {
    expect(await catalog.lock('first', LONG)).not.to.equal(undefined);
    expect(await catalog.lock('second', LONG)).to.equal(undefined);
    await catalog.unlock('second');
    expect((await catalog.read()).lock).to.include({ owner: 'first' });
    await catalog.unlock('first');
    expect((await catalog.read()).lock).to.equal(null);
    expect((await catalog.lock('second', 1))!.lock).to.include({ owner: 'second' });
    await delay(20);
    expect((await catalog.lock('third', LONG))!.lock).to.include({ owner: 'third' });
  });

  it('renews the lock only for its owner', async () => {
    const { lock } = (await catalog.lock('first', 1000))!;
    expect(await catalog.renew('second', LONG)).to.equal(false);
    expect((await catalog.read()).lock).to.deep.equal(lock);
    expect(await catalog.renew('first', LONG)).to.equal(true);
    const renewed = (await catalog.read()).lock!;
    expect(renewed).to.include({ owner: 'first', id: lock!.id });
    expect(+renewed.expires - +lock!.expires).to.be.within(LONG - 1000, LONG + 9000);
  });

  it('adds a version, activates it and releases the lock in one step', async () => {
    const first = await publish('1');
    expect(await catalog.current()).to.deep.equal(first);
    const second = await publish('2');
    const { lock, current, versions, moves } = await catalog.read();
    expect({ lock, current }).to.deep.equal({ lock: null, current: second });
    expect(versions).to.deep.equal([first, second]);
    expect(moves).to.deep.equal([first, second]);
    expect(await catalog.current()).to.deep.equal(second);
  });

  it('rejects a version after its lock expired, after another activation, and under an existing name', async () => {
    const first = await publish('1');
    const { sequence: id, current } = (await catalog.lock('publisher', LONG))!;
    const before = await catalog.read();
    const next = { id, version: '2', publishedAt: new Date(99_000) };
    expect(await catalog.commit('another', next, current)).to.equal(false);
    expect(await catalog.commit('publisher', next, null)).to.equal(false);
    expect(await catalog.commit('publisher', { ...next, version: '1' }, current)).to.equal(false);
    expect(await catalog.read()).to.deep.equal(before);
    expect(await catalog.commit('publisher', next, first)).to.equal(true);
  });

  it('activates an existing version if the expected version is current', async () => {
    const first = await publish('1');
    const second = await publish('2');
    const again = { ...first, publishedAt: new Date(99_000) };
    expect(await catalog.activate(again, first)).to.equal(false);
    expect(await catalog.activate({ ...again, id: 7 }, second)).to.equal(false);
    expect((await catalog.read()).current).to.deep.equal(second);
    expect(await catalog.activate(again, second)).to.equal(true);
    const { current, versions, moves } = await catalog.read();
    expect(current).to.deep.equal(again);
    expect(versions).to.deep.equal([first, second]);
    expect(moves).to.deep.equal([first, second, again]);
  });

  it('removes any version except the current version, and remembers that it was once current', async () => {
    const [first, second, third] = [await publish('1'), await publish('2'), await publish('3')];
    expect(await catalog.remove(third)).to.equal(false);
    expect(await catalog.remove({ ...first, id: 7 })).to.equal(false);
    expect(await catalog.remove(first)).to.equal(true);
    expect(await catalog.remove(first)).to.equal(false);
    const { versions, moves } = await catalog.read();
    expect(versions).to.deep.equal([second, third]);
    expect(moves).to.deep.equal([first, second, third]);
    const counted = [await catalog.countLock(first.id), await catalog.countLock(third.id), await catalog.countLock(7)];
    expect(counted).to.deep.equal([false, true, false]);
  });

  it('does not remove a version that was locked after the catalog was read', async () => {
    const [first] = [await publish('1'), await publish('2')];
    expect(await catalog.countLock(first.id)).to.equal(true);
    expect(await catalog.remove(first)).to.equal(false);
    const [locked] = (await catalog.read()).versions;
    expect(locked).to.deep.equal({ ...first, acquisitions: 1 });
    expect(await catalog.remove(locked!)).to.equal(true);
  });

  it('has a change stream in which only changes of the current version are moves', async () => {
    const first = await publish('1');
    const stream = await catalog.watch(1000);
    await stream.tryNext();
    const steps: readonly (readonly [isMove: boolean, change: () => Promise<unknown>])[] = [
      [false, () => catalog.lock('publisher', LONG)],
      [false, () => catalog.renew('publisher', LONG)],
      [false, () => catalog.countLock(first.id)],
      [false, () => catalog.unlock('publisher')],
      [true, () => catalog.activate({ ...first, publishedAt: new Date(99_000) }, first)],
      [true, () => catalog.rewrite([], [])],
    ];
    for (const [expected, change] of steps) {
      await change();
      expect(isMove(await stream.next())).to.equal(expected);
    }
    const { lock, sequence } = (await catalog.lock('publisher', LONG))!;
    expect(isMove(await stream.next())).to.equal(false);
    await catalog.commit(lock!.owner, { ...first, id: sequence }, null);
    expect(isMove(await stream.next())).to.equal(true);
    const damaged = { ...first, id: sequence };
    await catalog.lock('publisher', LONG);
    await stream.next();
    await catalog.replace('publisher', { ...damaged, id: sequence + 1 }, damaged, damaged);
    expect(isMove(await stream.next())).to.equal(true);
    await stream.close();
  });

  it('stops reading when its signal is aborted', async () => {
    await failsWith('aborted', () => catalog.current(AbortSignal.abort()));
  });
});
