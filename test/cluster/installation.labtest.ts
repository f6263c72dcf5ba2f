import anyTest, { type TestFn } from 'ava';
import {
  createClusterVault,
  fullname,
  type ClusterVault,
} from '../support/cluster/cluster-vault.ts';
import { apply, list, type ClusterObject } from '../support/cluster/kubectl.ts';
import { startIngressProxy } from '../support/cluster/ingress.ts';
import { createCertificate } from '../support/network/certificate.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { assertDemoRuns } from './checks.ts';

interface Job {
  readonly status: {
    readonly failed: number;
    readonly conditions: readonly { readonly type: string; readonly reason: string }[];
  };
}

const test = anyTest.serial as TestFn<{ vault: ClusterVault }>;

/** The addresses of the pods of the lab, and so of its ingress controller. */
const podNetwork = '10.244.0.0/16';
const ingress = {
  enabled: true,
  className: 'nginx',
  hosts: ['localhost'],
  tls: [{ secretName: 'tls', hosts: ['localhost'] }],
};

test.before(async (t) => {
  t.timeout(600_000);
  t.context = { vault: await createClusterVault() };
  const values = [
    `ingress=${JSON.stringify(ingress)}`,
    `http.trustedProxies=${JSON.stringify([podNetwork])}`,
    // Its worker sends the mails, without which nobody can register.
    'worker.enabled=true',
  ];
  t.log(await t.context.vault.install(values));
});
test.after.always((t) => t.context.vault?.[Symbol.asyncDispose]());

test('the demo runs through the Service', async (t) => {
  const { vault } = t.context;
  await assertDemoRuns(t, vault);
});

test('the demo runs through an ingress, which tells the address of its client', async (t) => {
  t.timeout(180_000);
  const { vault } = t.context;
  const { kubectl } = vault;
  await using certificate = await createCertificate();
  const address = await startIngressProxy({ ...vault, ingress: fullname, certificate });
  await using proxy = await startTcpProxy(`https://${address}`);
  const baseUrl = `https://localhost:${new URL(proxy.url).port}`;
  await assertDemoRuns(t, vault, { baseUrl, authorities: certificate.file });

  const query = '--output=jsonpath={.status.podIP}';
  const proxyAddress = await kubectl('get', 'pod', 'ingress', query);
  const api = '--selector=app.kubernetes.io/component=api';
  const lines = await kubectl('logs', api, '--container=app', '--tail=-1');
  const addresses = clientAddresses(lines);
  t.true(addresses.size > 0);
  t.false(addresses.has(proxyAddress));
  const printed = await kubectl('logs', 'pod/ingress');
  const clients = printed.match(/^\S+(?= - - )/gm) ?? [];
  t.true(clients.length > 0);
  t.deepEqual(
    clients.filter((client) => !addresses.has(client)),
    [],
  );
});

test('each pod runs as its users, with nothing that it could write to', async (t) => {
  const { kubectl } = t.context.vault;
  const inspect = `
    const { accessSync, constants, existsSync, statSync } = require('node:fs');
    const writable = (path) => {
      try { accessSync(path, constants.W_OK); return true; } catch { return false; }
    };
    const { mode, uid, gid } = statSync(process.argv[1]);
    console.log(JSON.stringify({
      user: process.getuid(),
      group: process.getgid(),
      socket: [(mode & 0o777).toString(8), uid, gid],
      writable: ['/', '/etc', '/opt/probatio', '/run', '/run/probatio/signer', '/tmp']
        .filter(writable),
      hasToken: existsSync('/var/run/secrets/kubernetes.io'),
      hasPin: existsSync('/etc/probatio/pin'),
    }));`;
  const see = async (container: string) => {
    const socket = '/run/probatio/signer/signer.sock';
    const command = ['--', 'node', '--eval', inspect, socket];
    const deployment = `deployment/${fullname}`;
    return JSON.parse(await kubectl('exec', deployment, `--container=${container}`, ...command));
  };
  const socket = ['660', 10_002, 10_000];
  const common = { group: 10_000, socket, hasToken: false };
  t.deepEqual(await see('app'), { ...common, user: 10_001, writable: ['/tmp'], hasPin: false });
  t.deepEqual(await see('signer'), {
    ...common,
    user: 10_002,
    writable: ['/run/probatio/signer', '/tmp'],
    hasPin: true,
  });
});

test('the doctor of the NOTES finds nothing that fails', async (t) => {
  t.timeout(120_000);
  const { kubectl } = t.context.vault;
  // It ends with 1 for warnings, such as those of the plain connections of this lab.
  const command = ['sh', '-c', 'node app/cli.ts doctor || [ $? -eq 1 ]'];
  const deployment = `deployment/${fullname}`;
  t.regex(
    await kubectl('exec', deployment, '--container=app', '--', ...command),
    /^ok +signer\.token: /m,
  );
});

test('a Job of each CronJob succeeds', async (t) => {
  t.timeout(400_000);
  const { kubectl } = t.context.vault;
  const names = (await list(kubectl, 'cronjobs')).map(({ metadata }) => String(metadata.name));
  t.is(names.length, 10);
  for (const name of names) {
    await kubectl('create', 'job', `--from=cronjob/${name}`, `${name}-now`);
    const job = `job/${name}-now`;
    await kubectl('wait', '--for=condition=Complete', '--timeout=90s', job);
    t.regex(await kubectl('logs', job), /"dryRun": *false/);
  }
});

test('a Job that cannot run says why, and is not tried again', async (t) => {
  t.timeout(120_000);
  const { kubectl, namespace } = t.context.vault;
  const from = `--from=cronjob/${fullname}-purge-jobs`;
  const made = await kubectl('create', 'job', from, 'wrong', '--dry-run=client', '--output=json');
  const job = JSON.parse(made) as ClusterObject;
  job['spec'].template.spec.containers[0].args.push('--hastily');
  delete job['metadata'].ownerReferences;
  await apply(namespace, [job]);
  await kubectl('wait', '--for=condition=Failed', 'job/wrong', '--timeout=90s');
  const { status } = JSON.parse(await kubectl('get', 'job', 'wrong', '--output=json')) as Job;
  t.is(status.failed, 1);
  t.is(status.conditions.find(({ type }) => type === 'Failed')?.reason, 'PodFailurePolicy');
  t.regex(await kubectl('logs', 'job/wrong'), /--hastily/);
});

test('helm test finds nothing wrong', async (t) => {
  t.timeout(300_000);
  const printed = await t.context.vault.helm('test', 'vault');
  t.is(printed.match(/Phase:\s+Succeeded/g)?.length, 12);
});

/** Returns the addresses of clients in the log of an app. */
function clientAddresses(lines: string): ReadonlySet<string> {
  const found = lines.matchAll(/"clientAddress":"([^"]+)"/g);
  return new Set([...found].map(([, address]) => String(address)));
}
