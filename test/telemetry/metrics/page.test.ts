import { readFile } from 'node:fs/promises';
import test from 'ava';
import { Registry } from 'prom-client';
import { describeAllMetrics } from '../../../app/cli/commands/pages/metrics.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import {
  createMetrics as createSignerMetrics,
  listMetrics,
} from '../../../signer/metrics/metrics.ts';
import { newMetrics } from '../../support/metrics/new-metrics.ts';
import { createMeter } from '../../../signer/protocol/metrics/meter.ts';

test('docs/metrics.md matches the code: npm run openapi updates it', async (t) => {
  const committed = await readFile(projectFile('docs/metrics.md'), 'utf8');
  t.is(describeAllMetrics(listMetrics()), committed);
});

test('every metric of the app is on the page', (t) => {
  const { registry, descriptions } = newMetrics();
  const described = [...descriptions.own, ...descriptions.read].map(({ name }) => name);
  t.deepEqual(described.sort(), namesIn(registry));
});

test('every metric of the signer is on the page', (t) => {
  const registry = new Registry();
  const meter = createMeter(registry);
  createSignerMetrics({ meter, sessionsMax: 1, readState: () => 'ready' });
  t.deepEqual(
    listMetrics()
      .map(({ name }) => name)
      .sort(),
    namesIn(registry),
  );
});

function namesIn(registry: Registry): readonly string[] {
  return registry
    .getMetricsAsArray()
    .map(({ name }) => name)
    .sort();
}

test('a description that is none is refused', (t) => {
  t.throws(() => describeAllMetrics([{ name: 'signer_x' }]), { message: /type/ });
});
