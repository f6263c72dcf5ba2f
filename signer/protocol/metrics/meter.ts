import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { MetricDescription } from './description.ts';
import { labelExemplar } from './exemplar.ts';

/**
 * A label with all of its values. The set is closed: no input can become a value, and nobody can
 * add series without end.
 */
export interface Label<Value extends string = string> {
  readonly values: readonly Value[];
  /** Says what the values are, where they are too many to list in docs/metrics.md. */
  readonly description?: string;
}

/** The labels of a metric by name. */
export type Labels = Readonly<Record<string, Label>>;

/** The value of each label. A label that does not apply is undefined, and is left out. */
export type ValuesOf<L extends Labels> = {
  readonly [Name in keyof L]: L[Name]['values'][number] | undefined;
};

interface Definition<L extends Labels> {
  /** By the conventions of Prometheus: with the unit, and `_total` for a counter. */
  readonly name: string;
  readonly help: string;
  readonly labels: L;
}

interface HistogramDefinition<L extends Labels> extends Definition<L> {
  /** Upper bounds of the buckets. */
  readonly buckets: readonly number[];
}

/** The values of a gauge, each with those of its labels. */
export type Readings<L extends Labels> = Iterable<readonly [ValuesOf<L>, number]>;

/** The value in place of one that is not in the set of its label, as OpenTelemetry spells it. */
export const otherValue = '_OTHER';

export type Meter = ReturnType<typeof createMeter>;
export type CounterOf<L extends Labels> = ReturnType<typeof createCounter<L>>;
export type GaugeOf<L extends Labels> = ReturnType<typeof createGauge<L>>;
export type HistogramOf<L extends Labels> = ReturnType<typeof createHistogram<L>>;

/** Creates the maker of the metrics of a registry, which also describes them. */
export function createMeter(registry: Registry) {
  const descriptions: MetricDescription[] = [];

  function describe(
    type: MetricDescription['type'],
    { name, help, labels }: Definition<Labels>,
    more: Pick<MetricDescription, 'buckets'> = {},
  ): void {
    const described = Object.entries(labels).map(([label, { values, description }]) => ({
      name: label,
      values: [...values],
      description,
    }));
    descriptions.push({ name, type, help, labels: described, ...more });
  }

  return {
    registry,
    /** All metrics so far, in the order in which they were made. */
    descriptions: descriptions as readonly MetricDescription[],

    counter<const L extends Labels>(definition: Definition<L>) {
      describe('counter', definition);
      return createCounter(registry, definition);
    },

    gauge<const L extends Labels>(definition: Definition<L>) {
      describe('gauge', definition);
      return createGauge(registry, definition);
    },

    histogram<const L extends Labels>(definition: HistogramDefinition<L>) {
      describe('histogram', definition, { buckets: [...definition.buckets] });
      return createHistogram(registry, definition);
    },
  };
}

function createCounter<L extends Labels>(registry: Registry, definition: Definition<L>) {
  const counter = new Counter(optionsOf(registry, definition));
  const close = closing(definition.labels);
  for (const values of knownSeries(definition.labels)) counter.inc(values, 0);
  return {
    add(values: ValuesOf<L>, amount = 1): void {
      counter.inc(close(values), amount);
    },
  };
}

function createGauge<L extends Labels>(registry: Registry, definition: Definition<L>) {
  let read: (() => Readings<L>) | undefined;
  const gauge: Gauge = new Gauge({
    ...optionsOf(registry, definition),
    collect() {
      if (read !== undefined) setAll(read());
    },
  });
  const close = closing(definition.labels);
  clear();

  /** Removes every series: nothing is known. */
  function clear(): void {
    gauge.reset();
    // prom-client sets a gauge without labels to 0, which would be a statement.
    if (Object.keys(definition.labels).length === 0) gauge.remove();
  }

  function setAll(readings: Readings<L>): void {
    clear();
    for (const [values, value] of readings) gauge.set(close(values), value);
  }

  return {
    clear,
    setAll,
    set(values: ValuesOf<L>, value: number): void {
      gauge.set(close(values), value);
    },
    add(values: ValuesOf<L>, amount: number): void {
      gauge.inc(close(values), amount);
    },
    /** Has the values read at each scrape. */
    readWith(reading: () => Readings<L>): void {
      read = reading;
    },
  };
}

function createHistogram<L extends Labels>(registry: Registry, definition: HistogramDefinition<L>) {
  const { buckets, labels } = definition;
  const histogram = new Histogram({
    ...optionsOf(registry, definition),
    buckets: [...buckets],
    enableExemplars: true,
    // prom-client refuses exemplars in a registry that does not always write OpenMetrics.
    registers: [],
  });
  registry.registerMetric(histogram);
  const close = closing(labels);
  return {
    /** Counts a value, with the current span as its exemplar if the span is sampled. */
    observe(values: ValuesOf<L>, value: number): void {
      histogram.observe({ labels: close(values), value, exemplarLabels: labelExemplar() });
    },
  };
}

function optionsOf(registry: Registry, { name, help, labels }: Definition<Labels>) {
  return { name, help, labelNames: Object.keys(labels), registers: [registry] };
}

/** Returns the function that replaces values that are not in the sets of their labels. */
function closing<L extends Labels>(labels: L) {
  const sets = Object.entries(labels).map(([name, { values }]) => [name, new Set(values)] as const);
  return (values: ValuesOf<L>): Record<string, string> => {
    const closed: Record<string, string> = {};
    for (const [name, known] of sets) {
      const value = values[name];
      if (value !== undefined) closed[name] = known.has(value) ? value : otherValue;
    }
    return closed;
  };
}

/**
 * Returns the series of a counter with at most one label, which begin with 0: the first event of a
 * series that appears with 1 is no increase to Prometheus.
 */
function knownSeries(labels: Labels): readonly Record<string, string>[] {
  const [first, ...others] = Object.entries(labels);
  if (first === undefined || others.length > 0) return [];
  const [name, { values }] = first;
  return values.map((value) => ({ [name]: value }));
}
