/** A query of a panel in PromQL, and how its series are named. */
export interface Query {
  readonly expr: string;
  /** A template of the names of labels, such as `{{kind}}`. */
  readonly legend: string;
}

interface SeriesOptions {
  /** Labels by which the series are told apart. */
  readonly by?: readonly string[];
  /** Further matchers of labels, such as `state="ready"`. */
  readonly where?: string;
  /** The name of the series; by default the values of `by`. */
  readonly legend?: string;
}

const interval = '[$__rate_interval]';

/** Selects a metric of the vault that the dashboard shows: that of one namespace. */
export function select(metric: string, where?: string): string {
  const matchers = ['namespace="$namespace"', ...(where === undefined ? [] : [where])];
  return `${metric}{${matchers.join(', ')}}`;
}

/** Asks for the sum of a gauge of each process. */
export function sum(metric: string, options: SeriesOptions = {}): Query {
  return aggregate('sum', select(metric, options.where), options);
}

/** Asks for the greatest value of a gauge, also of one of which every replica tells the same. */
export function max(metric: string, options: SeriesOptions = {}): Query {
  return aggregate('max', select(metric, options.where), options);
}

/** Asks for the increase of a counter a second, over all processes. */
export function rate(counter: string, options: SeriesOptions = {}): Query {
  return aggregate('sum', `rate(${select(counter, options.where)}${interval})`, options);
}

/** Asks for a quantile of a histogram in seconds, over all processes. */
export function quantile(share: number, histogram: string, options: SeriesOptions = {}): Query {
  const by = ['le', ...(options.by ?? [])].join(', ');
  const buckets = `rate(${select(`${histogram}_bucket`, options.where)}${interval})`;
  const name = `p${share * 100}`;
  return {
    expr: `histogram_quantile(${share}, sum by (${by}) (${buckets}))`,
    legend: options.legend ?? [name, ...(options.by ?? []).map(placeholder)].join(' '),
  };
}

/** Asks how many seconds ago a time in seconds since 1970 was; nothing for the time 0. */
export function since(metric: string, options: SeriesOptions = {}): Query {
  const { expr, legend } = max(metric, options);
  return { expr: `time() - (${expr} > 0)`, legend };
}

function aggregate(operator: 'sum' | 'max', expr: string, options: SeriesOptions): Query {
  const { by = [], legend = by.map(placeholder).join(' ') } = options;
  const grouping = by.length === 0 ? '' : ` by (${by.join(', ')}) `;
  return { expr: `${operator}${grouping}(${expr})`, legend };
}

const placeholder = (label: string) => `{{${label}}}`;
