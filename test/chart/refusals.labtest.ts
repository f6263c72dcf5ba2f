import test, { type ExecutionContext } from 'ava';
import { helms, template } from './helm.ts';

async function assertRefused(
  t: ExecutionContext,
  set: string | readonly string[],
  reason: RegExp,
  values = 'smallest-values.yaml',
) {
  for (const helm of Object.values(helms)) {
    const error = await t.throwsAsync(
      template({ helm, values, set: [set].flat() }),
      undefined,
      String(set),
    );
    t.regex((error as { stderr?: string } | undefined)?.stderr ?? '', reason, String(set));
  }
}

test('a value that is not known, or of another type, is refused by its name', async (t) => {
  for (const [set, reason] of [
    ['replicas=2', /replicas/],
    ['http.publicURL="https://a.example"', /publicURL/],
    ['signer.pin.value="1234"', /value/],
    ['maintenance.tasks.vacuum={"schedule":"@daily"}', /vacuum/],
    ['replicaCount="two"', /replicaCount/],
    ['replicaCount=-1', /replicaCount/],
    ['http.publicUrl="http://vault.example"', /publicUrl/],
    ['http.trustedProxies=["10.0.0.1"]', /trustedProxies/],
    ['storage.driver="nfs"', /driver/],
    ['image.digest="latest"', /digest/],
    ['redis.existingSecret="Not A Name"', /existingSecret/],
    ['migrate.mode="always"', /mode/],
    ['signer.token.mode="file"', /mode/],
  ] as const) {
    await assertRefused(t, set, reason);
  }
});

test('values of other charts may stand below global', async (t) => {
  await t.notThrowsAsync(template({ set: ['global.storageClass="fast"'] }));
});

test('a value that is required and missing is named', async (t) => {
  for (const name of [
    'http.publicUrl',
    'database.existingSecret',
    'database.ownerExistingSecret',
    'redis.existingSecret',
    'smtp.existingSecret',
    'smtp.from',
    'storage.s3.bucket',
    'signer.pin.existingSecret',
    'signer.token.label',
    'signer.library.path',
    'internalApi.existingSecret',
    'maintenance.existingSecret',
  ]) {
    await assertRefused(
      t,
      `${name}=""`,
      new RegExp(`are required: ${name.replaceAll('.', '\\.')}`),
    );
  }
  await assertRefused(t, 'ingress.enabled=true', /are required: ingress\.hosts/);
  await assertRefused(t, 'identityProvider.url="https://a.example"', /identityProvider\.realm/);
});

test('values that cannot work together are refused with the reason', async (t) => {
  const files = ['storage.driver="filesystem"', 'storage.filesystem.existingClaim="objects"'];
  await t.notThrowsAsync(template({ set: files }));
  for (const more of ['replicaCount=2', 'worker.enabled=true', 'autoscaling.enabled=true']) {
    await assertRefused(t, [...files, more], /filesystem serves a single pod/);
  }
  await assertRefused(
    t,
    ['ingress.enabled=true', 'ingress.hosts=["vault.example"]'],
    /http\.trustedProxies is required/,
  );
  await assertRefused(t, 'podDisruptionBudget.maxUnavailable=0', /no node could be drained/);
});

test('a token that the chart makes takes no settings of one that exists', async (t) => {
  const values = 'softhsm-values.yaml';
  for (const set of [
    'signer.pin.existingSecret="pin"',
    'signer.library.path="/opt/library.so"',
    'signer.library.image="vendor:1"',
    'signer.library.configExistingSecret="hsm"',
  ])
    await assertRefused(t, set, /set neither signer\.pin\.existingSecret/, values);
  for (const name of ['maintenance', 'operator'])
    await assertRefused(t, `${name}.existingSecret="key"`, /makes all internal API keys/, values);
  const given = 'internalApi.existingSecret="keys"';
  await assertRefused(t, given, /are required: maintenance\.existingSecret/, values);
  const all = [given, 'maintenance.existingSecret="one"', 'operator.existingSecret="other"'];
  await t.notThrowsAsync(template({ values, set: all }));
});

test('Kubernetes before 1.30 is refused', async (t) => {
  for (const helm of Object.values(helms)) {
    const error = await t.throwsAsync(template({ helm, kubeVersion: '1.29.0' }));
    t.regex((error as { stderr?: string }).stderr ?? '', /1\.30/);
  }
});
