import type { MetricDescription } from '../../signer/protocol/metrics/description.ts';

const heading = `# Metrics

Made from the code by \`npm run openapi\`; a test fails when this page is out of date.

The app serves \`/metrics\` on the port \`METRICS_PORT\`, and the signer on \`SIGNER_METRICS_PORT\`
([configuration.md](configuration.md)), as OpenMetrics if the scraper's \`Accept\` prefers it, and
otherwise in the text format of Prometheus. Beside the metrics below, both have those of the process
and of Node that prom-client adds: \`process_…\` and \`nodejs_…\`. The delay of the event loop is
looked at every 100 ms, which \`nodejs_eventloop_lag_…_seconds\` include: an idle process shows 0.1.
The names and labels that begin with \`http_\` and \`db_\` are OpenTelemetry's, in the spelling of
Prometheus.

Each label has a closed set of values, so that nobody can add series without end: a value that is
not in it counts as \`_OTHER\`. No label is a user, an address, a path or a text of an error.

In OpenMetrics, a bucket of a histogram of the app has the \`trace_id\` and \`span_id\` of its last
observation in a [trace](traces.md) that is recorded. Prometheus keeps them with
\`--enable-feature=exemplar-storage\`.

`;

const ofDatabase = `These values are read every 15 seconds, in one transaction, and not by a scrape.
Every replica that is scraped tells the same: take their \`max\`, never their \`sum\`. While the
database cannot be read, the last values remain for a minute, and then there are none.

`;

/** A program and its metrics. */
export interface MetricsSection {
  readonly title: string;
  /** The metrics of what this process does. */
  readonly own: readonly MetricDescription[];
  /** The metrics that are read from the database; empty for a program without one. */
  readonly read: readonly MetricDescription[];
}

/** Returns docs/metrics.md. */
export function describeMetrics(sections: readonly MetricsSection[]): string {
  return heading + sections.map(renderSection).join('\n');
}

function renderSection({ title, own, read }: MetricsSection): string {
  const ofProcess = `## ${title}\n\n${renderTable(own)}`;
  if (read.length === 0) return ofProcess;
  return `${ofProcess}\n### Read from the database\n\n${ofDatabase}${renderTable(read)}`;
}

function renderTable(metrics: readonly MetricDescription[]): string {
  const head = [row(['Metric', 'Type', 'Labels', 'Meaning']), row(['---', '---', '---', '---'])];
  const rows = metrics.map((metric) => {
    const meaning = `${metric.help}.${bucketsOf(metric)}`;
    return row([`\`${metric.name}\``, metric.type, labelsOf(metric), meaning]);
  });
  return [...head, ...rows].join('');
}

function labelsOf({ labels }: MetricDescription): string {
  return labels
    .map(({ name, values, description }) => {
      const list = values.map((value) => `\`${value}\``).join(', ');
      return `\`${name}\`: ${description ?? list}`;
    })
    .join('; ');
}

function bucketsOf({ buckets }: MetricDescription): string {
  return buckets === undefined ? '' : ` Buckets: ${buckets.join(', ')}.`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}
