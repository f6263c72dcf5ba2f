import type { Registry } from 'prom-client';

/** A series of a scrape, with its present value. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const line = /^(?<name>[a-z_0-9]+)(?:\{(?<labels>.*)\})? (?<value>\S+)(?: # \{.*)?$/;
const label = /(?<name>[a-z_0-9]+)="(?<value>(?:[^"\\]|\\.)*)"/g;

/**
 * Parses the text format of Prometheus or OpenMetrics, but for exemplars. Throws for a line that is
 * neither comment nor series.
 */
export function parseScrape(text: string): readonly Series[] {
  return text
    .split('\n')
    .filter((each) => each !== '' && !each.startsWith('#'))
    .map((each) => {
      const { name = '', labels = '', value = '' } = line.exec(each)?.groups ?? {};
      if (name === '') throw new Error(`no series of Prometheus: ${each}`);
      const pairs = [...labels.matchAll(label)].map(
        ({ groups }) => [groups?.['name'] ?? '', groups?.['value'] ?? ''] as const,
      );
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

export async function scrape(registry: Registry): Promise<readonly Series[]> {
  return parseScrape(await registry.metrics());
}

/** Returns the value of the one series with this name and these labels, if there is one. */
export function valueOf(
  series: readonly Series[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = series.filter(
    (each) =>
      each.name === name &&
      Object.entries(labels).every(([key, value]) => each.labels[key] === value),
  );
  if (found.length > 1) throw new Error(`${found.length} series ${name} have these labels`);
  return found[0]?.value;
}

/** Names a series by its name and labels. */
export function keyOf({ name, labels }: Series): string {
  const inOrder = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${name} ${JSON.stringify(inOrder)}`;
}
