import test from 'ava';
import { listMetrics } from '../../../signer/metrics/metrics.ts';
import type { MetricDescription } from '../../../signer/protocol/metrics/description.ts';
import { newMetrics } from '../../support/metrics/new-metrics.ts';
import { readSources } from '../../architecture/source/sources.ts';

const { own, read } = newMetrics().descriptions;
const app = [...own, ...read];
const signer = listMetrics();
const all = [...app, ...signer];

/** Names of labels under which something of a user or of a request could hide. */
const personal =
  /user|tenant|account|email|address|client|ip|path|url$|query|message|id$|token|name$/;
/** Labels with such a name whose values are names in the code. */
const harmless: ReadonlySet<string> = new Set([
  'db_operation_name',
  'db_client_connection_pool_name',
  'db_client_connection_state',
]);

const problems: Readonly<Record<string, (metric: MetricDescription) => boolean>> = {
  'the name of a counter ends in _total': ({ type, name }) =>
    (type === 'counter') === name.endsWith('_total'),
  'a name has a prefix that says whose it is': ({ name }) =>
    /^(?:http_server|db_client|probatio|signer)_[a-z0-9_]+$/.test(name),
  'units are base units, and are not abbreviated': ({ name }) =>
    !/_(?:ms|milliseconds|us|sec|secs|minutes|hours|kb|kib|mb|mib|percent)(?:_|$)/.test(name),
  'a histogram of times is in seconds': ({ type, name }) =>
    type !== 'histogram' || /_(?:duration_seconds|entries)$/.test(name),
  'an age and a duration are in seconds': ({ name }) =>
    !/_(?:age|duration|timestamp)(?:_|$)/.test(name) || name.endsWith('_seconds'),
  'a text about a metric is no sentence yet': ({ help }) => /^\S.*[^.]$/.test(help),
  'a label has a name by the conventions': ({ labels }) =>
    labels.every(({ name }) => /^[a-z][a-z0-9_]*$/.test(name) && name !== 'le'),
  'a label has values, each once': ({ labels }) =>
    labels.every(({ values }) => values.length > 0 && new Set(values).size === values.length),
};

for (const [rule, holds] of Object.entries(problems)) {
  test(rule, (t) => {
    t.deepEqual(
      all.filter((metric) => !holds(metric)).map(({ name }) => name),
      [],
    );
  });
}

test('the app and the signer have no metric of the same name, and none twice', (t) => {
  const names = all.map(({ name }) => name);
  t.deepEqual(names, [...new Set(names)]);
});

test('no label is named after a user, an address, a path, an id or a text', (t) => {
  const found = all.flatMap(({ name, labels }) =>
    labels
      .filter((label) => personal.test(label.name) && !harmless.has(label.name))
      .map((label) => `${name}: ${label.name}`),
  );
  t.deepEqual(found, []);
});

test('the values of a label are names of the code, never a text, an address or an id', (t) => {
  const template = /^(?:\/[a-z0-9.-]*|\/:[A-Za-z]+)+$/;
  const name = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,40}$/;
  const uuidOrAddress = /[0-9a-f]{8}-|@|\d+\.\d+\.\d+\.\d+|::/;
  const found = all.flatMap((metric) =>
    metric.labels.flatMap((label) =>
      label.values
        .filter((value) => !(template.test(value) || name.test(value)) || uuidOrAddress.test(value))
        .map((value) => `${metric.name}: ${label.name}="${value}"`),
    ),
  );
  t.deepEqual(found, []);
});

test('the meter alone makes metrics, so that none has open labels', (t) => {
  const makers = readSources()
    .filter(({ path }) => !path.startsWith('test/'))
    .filter(({ text }) =>
      /import \{[^}]*\b(?:Counter|Gauge|Histogram|Summary)\b[^}]*\} from 'prom-client'/.test(text),
    )
    .map(({ path }) => path);
  t.deepEqual(makers, ['signer/protocol/metrics/meter.ts']);
});
