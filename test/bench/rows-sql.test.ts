import { expect } from 'chai';
import { LOOKUPS, QUESTIONS } from '../../bench/rows-requests.js';
import { sqlOf } from '../../bench/rows-sql.js';

describe('sqlOf(path, search)', () => {
  const sqls = [...LOOKUPS, ...QUESTIONS].map(([, path]) =>
    sqlOf(
      path(() => 1, 100),
      (words) => `has(${words.join('+')})`,
    ),
  );

  it('translates rows, pages and filters', () => {
    expect(sqls.slice(0, 6)).to.deep.equal([
      "SELECT * FROM sales WHERE id = 'S00000001'",
      "SELECT * FROM sales WHERE id > 'S00000001' ORDER BY id LIMIT 100",
      "SELECT * FROM sales WHERE id > 'S00000051' ORDER BY id LIMIT 100",
      "SELECT * FROM sales WHERE kind = 'bungalow' ORDER BY kind, price, id LIMIT 91",
      "SELECT * FROM sales WHERE city = 'City 001' AND sold_on >= '2015-01-02' ORDER BY city, sold_on, id LIMIT 100",
      "SELECT * FROM sales WHERE sold_on >= '2015-01-02' AND sold_on <= '2024-12-19' ORDER BY sold_on, id LIMIT 100",
    ]);
  });

  it('translates totals and searches', () => {
    const price = 'count(*) AS count, sum(price) AS sum, avg(price) AS mean, min(price) AS min, max(price) AS max';
    expect(sqls.slice(6)).to.deep.equal([
      'SELECT city, count(*) AS count FROM sales GROUP BY city ORDER BY count(*) DESC, city LIMIT 21',
      `SELECT kind, ${price} FROM sales GROUP BY kind ORDER BY kind LIMIT 11`,
      `SELECT kind,rooms, ${price} FROM sales GROUP BY kind,rooms ORDER BY kind,rooms LIMIT 91`,
      'SELECT * FROM sales WHERE has(sold+1) ORDER BY id LIMIT 100',
    ]);
  });
});
