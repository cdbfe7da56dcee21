/**
 * The metrics of several workers as one page: each of their series with the worker's number. A worker that takes the place
 * of another has its number, so that to Prometheus its counters have begun anew, as after a restart.
 */

interface Family {
  /** `# HELP` and `# TYPE`. */
  readonly headings: readonly string[];
  readonly series: string[];
}

/** `name{a="b"} 1` is `name{worker="2",a="b"} 1`. */
const numbered = (line: string, worker: number): string => {
  const [, name = '', rest = ''] = /^([\w:]+)(.*)$/s.exec(line) ?? [];
  const label = `worker="${worker}"`;
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
};

/** @param pages what each worker would serve by itself, by its number */
export const mergePages = (pages: ReadonlyMap<number, string>): string => {
  const families = new Map<string, Family>();
  for (const [worker, page] of pages) {
    let headings: string[] = [];
    let family: Family | undefined;
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
