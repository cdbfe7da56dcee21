/** Renders metrics in the Prometheus text format (version 0.0.4), and merges the metrics of several workers. */

type Labels = Readonly<Record<string, string>>;

export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
  lines(): Iterable<string>;
}

const escapeValue = (text: string): string => text.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`));

export const inBraces = (labels: Labels, more = ''): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  const all = more === '' ? pairs : [...pairs, more];
  return all.length > 0 ? `{${all.join(',')}}` : '';
};

export const numeral = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);

/** A metric with labels. `of` is slow, so keep a reference to the series that it returns. */
export class Family<Series> {
  readonly #series = new Map<string, { readonly labels: Labels; readonly series: Series }>();

  constructor(
    readonly name: string,
    readonly help: string,
    readonly create: () => Series,
  ) {}

  of(labels: Labels = {}): Series {
    const key = inBraces(labels);
    let entry = this.#series.get(key);
    if (!entry) {
      entry = { labels, series: this.create() };
      this.#series.set(key, entry);
    }
    return entry.series;
  }

  protected entries(): Iterable<{ readonly labels: Labels; readonly series: Series }> {
    return this.#series.values();
  }
}

export class Counter extends Family<{ value: number }> implements Metric {
  readonly type = 'counter';

  constructor(name: string, help: string) {
    super(name, help, () => ({ value: 0 }));
  }

  *lines(): Generator<string> {
    for (const { labels, series } of this.entries()) yield `${this.name}${inBraces(labels)} ${numeral(series.value)}`;
  }
}

type Reading = readonly [labels: Labels, value: number | undefined];

/** A metric whose value is read on each scrape. The metric is omitted while its value is undefined. */
export class Reader implements Metric {
  constructor(
    readonly type: 'counter' | 'gauge' | 'summary',
    readonly name: string,
    readonly help: string,
    readonly read: () => number | undefined | Iterable<Reading>,
  ) {}

  *lines(): Generator<string> {
    const value = this.read();
    const readings: Iterable<Reading> = typeof value === 'object' ? value : [[{}, value]];
    for (const [labels, reading] of readings) {
      if (reading !== undefined) yield `${this.name}${inBraces(labels)} ${numeral(reading)}`;
    }
  }
}

export const exposition = (metrics: Iterable<Metric>): string => {
  const lines: string[] = [];
  for (const metric of metrics) {
    lines.push(`# HELP ${metric.name} ${metric.help.replace(/[\\\n]/g, ' ')}`, `# TYPE ${metric.name} ${metric.type}`);
    for (const line of metric.lines()) lines.push(line);
  }
  return `${lines.join('\n')}\n`;
};

interface MergedFamily {
  readonly headings: readonly string[];
  readonly series: string[];
}

const numbered = (line: string, worker: number): string => {
  const [, name = '', rest = ''] = /^([\w:]+)(.*)$/s.exec(line) ?? [];
  const label = `worker="${worker}"`;
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
};

/**
 * Merges the metrics of all workers. A replacement worker reuses the number of its predecessor, so Prometheus sees a
 * counter reset.
 */
export const mergePages = (pages: ReadonlyMap<number, string>): string => {
  const families = new Map<string, MergedFamily>();
  for (const [worker, page] of pages) {
    let headings: string[] = [];
    let family: MergedFamily | undefined;
    for (const line of page.trimEnd().split('\n')) {
      if (line.startsWith('# HELP')) headings = [line];
      else if (line.startsWith('# TYPE')) {
        const name = line.split(' ')[2]!;
        family = families.get(name) ?? { headings: [...headings, line], series: [] };
        families.set(name, family);
      } else family?.series.push(numbered(line, worker));
    }
  }
  const lines = [...families.values()].flatMap(({ headings, series }) => [...headings, ...series]);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
};
