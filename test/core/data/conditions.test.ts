import { expect } from 'chai';
import type { Condition } from '../../../core/contracts/storage.js';
import { planRead } from '../../../core/data/conditions.js';

const sales = {
  key: ['id'],
  orders: [
    ['price', 'id'],
    ['kind', 'price', 'id'],
    ['kind', 'rooms', 'price', 'id'],
    ['city', 'id'],
  ],
};
const kind: Condition = { field: 'kind', operator: 'eq', value: 'house' };
const rooms: Condition = { field: 'rooms', operator: 'eq', value: 3 };
const price: Condition = { field: 'price', operator: 'gte', value: 100 };

describe('planning a read', () => {
  it('uses the requested order if no other order sorts the rows in the same way', () => {
    expect(planRead(sales, [kind], ['city', 'id']).order).deep.equal(['city', 'id']);
    expect(planRead(sales, [], ['price', 'id']).order).deep.equal(['price', 'id']);
  });

  it('uses an order that starts with the fixed fields and then sorts as requested', () => {
    const { order, equal, range, rest } = planRead(sales, [kind, price], ['price', 'id']);
    expect(order).deep.equal(['kind', 'price', 'id']);
    expect({ equal, range, rest }).deep.equal({
      equal: { kind: 'house' },
      range: { field: 'price', from: 100 },
      rest: [],
    });
  });

  it('uses the order that fixes the most fields', () => {
    expect(planRead(sales, [kind, rooms], ['price', 'id']).order).deep.equal(['kind', 'rooms', 'price', 'id']);
  });

  it('does not use an order whose other fields are not fixed', () => {
    expect(planRead(sales, [rooms], ['price', 'id']).order).deep.equal(['price', 'id']);
    const values: Condition = { field: 'kind', operator: 'in', value: ['house', 'loft'] };
    expect(planRead(sales, [values], ['price', 'id']).order).deep.equal(['price', 'id']);
  });
});
