import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { Client } from 'pg';
import { until } from '../../app/dev/processes/until.ts';
import {
  createClusterVault,
  fullname,
  volumeOfToken,
  type ClusterVault,
} from '../support/cluster/cluster-vault.ts';
import { apply, list, type ClusterObject } from '../support/cluster/kubectl.ts';
import { secret } from '../support/cluster/objects.ts';
import { createToken } from '../support/cluster/token.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';

const test = anyTest.serial as TestFn<{ vault: ClusterVault }>;

test.before(async (t) => {
  t.timeout(600_000);
  t.context = { vault: await createClusterVault() };
  await t.context.vault.install();
});
test.after.always((t) => t.context.vault?.[Symbol.asyncDispose]());

test('values that cannot be right are refused, and change nothing', async (t) => {
  const { vault } = t.context;
  for (const [set, reason] of [
    ['http.publicURL="https://vault.test"', /publicURL/],
    ['replicaCount="two"', /replicaCount/],
    ['redis.existingSecret=""', /are required: redis\.existingSecret/],
  ] as const) {
    const error = await t.throwsAsync(vault.install([set]));
    t.regex(String((error as { stderr?: string } | undefined)?.stderr), reason);
  }
  t.is((JSON.parse(await vault.helm('history', 'vault', '--output=json')) as unknown[]).length, 1);
});

test('a setting that is refused shows in the description of the pod', async (t) => {
  await assertShown(
    t,
    ['extraEnv=[{"name":"LIMITS_WRITE_USER","value":"many"}]'],
    [/Exit Code:\s+78/, /Message:[^]*LIMITS_WRITE_USER/],
  );
});

test('an entry that a Secret lacks shows in the description of the pod', async (t) => {
  await assertShown(t, ['redis.urlKey="absent"'], [/references non-existent secret key: absent/]);
});

test('the token of another vault shows in the description of the pod', async (t) => {
  const { namespace, kubectl } = t.context.vault;
  await createToken(namespace, kubectl, 'other-token');
  const volumes = JSON.stringify([volumeOfToken('other-token')]);
  await assertShown(
    t,
    ['signer.pin.existingSecret="other-token"', `extraVolumes=${volumes}`],
    [
      /Exit Code:\s+78/,
      /Message:[^]*refused to start: the token is another vault's, since it holds the key /,
    ],
  );
});

/** Asserts what a pod shows that these values make, while the pod before it goes on. */
async function assertShown(
  t: ExecutionContext<{ vault: ClusterVault }>,
  set: readonly string[],
  shown: readonly RegExp[],
) {
  t.timeout(400_000);
  const { vault } = t.context;
  await vault.install(set, { wait: false });
  let described = '';
  await until(
    async () => {
      described = await vault.kubectl(
        'describe',
        'pods',
        '--show-events',
        `--selector=${selector}`,
      );
      return shown.every((pattern) => pattern.test(described));
    },
    { what: String(shown), timeoutMs: 120_000, intervalMs: 500 },
  ).catch((error: unknown) => t.fail(`${String(error)}\n${described}`));
  t.is((await fetch(`${vault.baseUrl}/health/ready`)).status, 200);
  await vault.install();
}

test('a wrong PIN is tried once by each signer, which says so', async (t) => {
  t.timeout(400_000);
  const { vault } = t.context;
  await apply(vault.namespace, [secret('wrong-pin', { pin: '000000' })]);
  await vault.install(['signer.pin.existingSecret="wrong-pin"']);
  const log = await until(
    async () => {
      const text = await vault.kubectl('logs', `deployment/${fullname}`, '--container=signer');
      return /"level":"error".*PIN/.test(text) && text;
    },
    { what: 'the signer to say it', timeoutMs: 60_000, intervalMs: 500 },
  );
  t.is(log.match(/C_Login: CKR_PIN_INCORRECT/g)?.length, 1);
  t.regex(log.trim().split('\n').at(-1) ?? '', /"level":"error".*the token refused the PIN/);
  const health = (await (await fetch(`${vault.baseUrl}/health`)).json()) as object;
  t.like(health, { status: 'degraded', checks: { signer: { error: 'pin_incorrect' } } });
  await vault.install();
});

test('a database older than the release leaves its pod running, which says so', async (t) => {
  t.timeout(300_000);
  const { kubectl, databases } = t.context.vault;
  const owner = new Client({ connectionString: databases.owner });
  await owner.connect();
  t.teardown(() => owner.end());
  const { rows } = await owner.query<{ readonly name: string }>(
    'delete from migrations where name = (select max(name) from migrations) returning name',
  );
  const [{ name } = { name: '' }] = rows;
  const pods = () => list(kubectl, 'pods', 'app.kubernetes.io/component=api');
  const before = new Set((await pods()).map(({ metadata }) => metadata.name));
  await kubectl('rollout', 'restart', `deployment/${fullname}`);
  const pod = await until(
    async () => (await pods()).find(({ metadata }) => !before.has(metadata.name)),
    { what: 'a new pod', timeoutMs: 60_000, intervalMs: 500 },
  );
  const logs = ['logs', String(pod['metadata'].name), '--container=app'];
  const errors = await until(
    async () => {
      const text = await kubectl(...logs).catch(() => '');
      return text.match(/^.*"level":"(?:error|fatal)".*$/gm) ?? undefined;
    },
    { what: 'the app to say it', timeoutMs: 90_000, intervalMs: 500 },
  );
  t.true(errors.at(-1)?.includes(`until probatio migrate has run: the database lacks ${name}`));
  const json = await kubectl('get', 'pod', String(pod['metadata'].name), '--output=json');
  const { status } = JSON.parse(json) as ClusterObject;
  t.is(status.phase, 'Running');
  // It listens a moment after it has said so.
  const health = await until(
    () =>
      fetch(`http://${status.podIP}:8080/health`).then(
        (response) => response.json() as Promise<object>,
        () => undefined,
      ),
    { what: 'the app to listen', timeoutMs: 60_000 },
  );
  t.like(health, { checks: { database: { error: 'schema_behind' } } });
  await owner.query('insert into migrations (name) values ($1)', [name]);
  await kubectl('rollout', 'status', `deployment/${fullname}`, '--timeout=120s');
  t.regex(await kubectl(...logs), /the database has every migration of this release now/);
});

test('an uninstalled release leaves Secrets and claims, and finds its vault again', async (t) => {
  t.timeout(300_000);
  const { vault } = t.context;
  const account = await createAccount(vault);
  const names = async () => {
    const kinds = 'all,configmaps,serviceaccounts,networkpolicies,poddisruptionbudgets,ingresses';
    return (await list(vault.kubectl, kinds, 'app.kubernetes.io/instance=vault')).map(
      ({ kind, metadata }) => `${kind} ${metadata.name}`,
    );
  };
  t.true((await names()).length > 15);
  const kept = async () =>
    (await list(vault.kubectl, 'secrets,persistentvolumeclaims'))
      .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
      .filter((name) => !name.startsWith('sh.helm.'));
  const before = await kept();
  await vault.helm('uninstall', 'vault', '--wait');
  await until(async () => (await names()).length === 0, {
    what: 'everything to be gone',
    timeoutMs: 90_000,
    intervalMs: 500,
  });
  t.deepEqual(await kept(), before);
  await vault.install();
  await t.notThrowsAsync(logIn(vault, account));
});

const selector = 'app.kubernetes.io/instance=vault';
