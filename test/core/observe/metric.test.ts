import { expect } from 'chai';
import { Counter, exposition, Reader } from '../../../core/observe/metric.js';
import { Histogram } from '../../../core/observe/request-metrics.js';

describe('exposition(metrics)', () => {
  it('writes HELP and TYPE, then one line for each series', () => {
    const counter = new Counter('requests_total', 'All of them.');
    counter.of({ route: '/a', status: '200' }).value++;
    counter.of({ route: '/a', status: '200' }).value += 2;
    counter.of({ route: '/b', status: '404' }).value++;
    expect(exposition([counter, new Reader('gauge', 'up', 'Whether.', () => 1)])).to.equal(
      `# HELP requests_total All of them.
# TYPE requests_total counter
requests_total{route="/a",status="200"} 3
requests_total{route="/b",status="404"} 1
# HELP up Whether.
# TYPE up gauge
up 1
`,
    );
  });

  it('writes cumulative histogram buckets with inclusive bounds, ending with +Inf', () => {
    const histogram = new Histogram('seconds', 'Time.', [0.1, 1]);
    for (const value of [0.05, 0.1, 0.5, 2]) histogram.of({ route: '/a' }).observe(value);
    expect([...histogram.lines()]).to.deep.equal([
      'seconds_bucket{route="/a",le="0.1"} 2',
      'seconds_bucket{route="/a",le="1"} 3',
      'seconds_bucket{route="/a",le="+Inf"} 4',
      'seconds_sum{route="/a"} 2.65',
      'seconds_count{route="/a"} 4',
    ]);
  });

  it('escapes label values', () => {
    const counter = new Counter('x_total', 'A \\ and a\nbreak.');
    counter.of({ a: '"} 1\n\\' }).value++;
    expect(exposition([counter])).to.equal(
      '# HELP x_total A   and a break.\n# TYPE x_total counter\nx_total{a="\\"} 1\\n\\\\"} 1\n',
    );
  });

  it('leaves out metrics without a value', () => {
    const reader = new Reader('gauge', 'age', 'Age.', () => [
      [{ of: 'a' }, undefined],
      [{ of: 'b' }, 2],
    ]);
    expect([...reader.lines()]).to.deep.equal(['age{of="b"} 2']);
  });
});
