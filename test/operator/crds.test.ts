import { readFile } from 'node:fs/promises';
import test from 'ava';
import { alertThresholds } from '../../app/telemetry/thresholds.ts';
import { crdTemplates } from '../../charts/crds/render.ts';
import { durationOfAtLeast, parseDuration } from '../../k8s/resources/duration.ts';
import { VaultMaintenanceSpec } from '../../k8s/resources/vault-maintenance.ts';
import { SigningPurpose as OperatorsPurpose } from '../../k8s/resources/purpose.ts';
import { SigningPurpose } from '../../signer/protocol/protocol.ts';

const directory = new URL('../../charts/probatio/templates/crds/', import.meta.url);

test('the definitions in the chart are made from the schemas: npm run crds', async (t) => {
  for (const [name, text] of crdTemplates())
    t.is(await readFile(new URL(name, directory), 'utf8'), text, name);
});

test('the operator knows the purposes that the signer knows', (t) => {
  t.deepEqual(OperatorsPurpose.options, SigningPurpose.options);
});

test('without a value, the condition of the backlog has the threshold of its alert', (t) => {
  t.is(VaultMaintenanceSpec.parse({}).backlogAbove, alertThresholds.backlog);
});

test('durations are read as Kubernetes reads them', (t) => {
  const Duration = durationOfAtLeast('1h');
  for (const [text, seconds] of [
    ['1h', 3_600],
    ['2160h', 7_776_000],
    ['1h30m', 5_400],
    ['90m', 5_400],
    ['1h1m1s', 3_661],
  ] as const) {
    t.is(parseDuration(Duration.parse(text)), 1_000 * seconds, text);
  }
  for (const text of ['90d', '1.5h', '-1h', 'h', ' 1h', '1h 1m']) {
    t.false(Duration.safeParse(text).success, text);
  }
});
