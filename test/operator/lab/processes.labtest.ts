import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CustomObjectsApi } from '@kubernetes/client-node';
import test from 'ava';
import { projectFile } from '../../../app/dev/files/project.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { connect } from '../../../k8s/cluster/connection.ts';
import { namespace, startApiServer, type ApiServer } from './api-server.ts';
import { serveVault } from './served-vault.ts';
import { createVaultPod } from './vault-pod.ts';

type Name = 'one' | 'two';

const internalKeys = { one: 'key-of-one', two: 'key-of-two' };
const otherOf = { one: 'two', two: 'one' } as const;
const takeOver = { timeoutMs: 120_000 };

let server: ApiServer;
let served: Awaited<ReturnType<typeof serveVault>>;
let directory: string;
const processes = new Map<Name, ChildProcess>();

test.before(async (t) => {
  t.timeout(600_000);
  server = await startApiServer();
  served = await serveVault(internalKeys);
  directory = await mkdtemp(join(tmpdir(), 'probatio-operators-'));
  await writeFile(join(directory, 'kubeconfig'), server.operator.exportConfig());
  await createVaultPod(server.admin);
  const body = {
    apiVersion: 'probatio.dev/v1alpha1',
    kind: 'SigningKey',
    metadata: { name: 'audit' },
    spec: { purpose: 'audit' },
  };
  const place = { group: 'probatio.dev', version: 'v1alpha1', namespace, plural: 'signingkeys' };
  await connect(server.admin, CustomObjectsApi).createNamespacedCustomObject({ ...place, body });
});
test.after.always(async () => {
  for (const child of processes.values()) child.kill('SIGKILL');
  served?.close();
  await server?.stop();
  await rm(directory, { recursive: true });
});

/** Starts a process of the operator, as its image does. */
async function start(name: Name): Promise<void> {
  const keyFile = join(directory, name);
  await writeFile(keyFile, internalKeys[name]);
  const child = spawn(process.execPath, [projectFile('k8s/main.ts')], {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      KUBECONFIG: join(directory, 'kubeconfig'),
      OPERATOR_NAMESPACE: namespace,
      OPERATOR_IDENTITY: name,
      OPERATOR_LEASE: 'vault-operator',
      OPERATOR_SELECTOR: 'app.kubernetes.io/instance=vault',
      OPERATOR_INTERNAL_PORT: String(served.port),
      OPERATOR_PROBES_HOST: '127.0.0.1',
      OPERATOR_PROBES_PORT: name === 'one' ? '18482' : '18483',
      INTERNAL_API_KEY_FILE: keyFile,
    },
  });
  processes.set(name, child);
}

/** Resolves with who asks the vault next. */
async function nextAsker(): Promise<Name> {
  const { length } = served.askers;
  await until(async () => served.askers.length > length, { what: 'a request', ...takeOver });
  return served.askers.at(-1)?.name as Name;
}

/** Waits until `name` asks, and returns the seconds that this took since `since`. */
async function secondsUntil(name: Name, since: number): Promise<number> {
  const asked = () => served.askers.find((asker) => asker.name === name && asker.at >= since);
  await until(async () => asked() !== undefined, { what: `requests of ${name}`, ...takeOver });
  return ((asked()?.at ?? 0) - since) / 1_000;
}

test.serial(
  'a leader that is killed, frozen or ended is replaced, and never do two act',
  async (t) => {
    t.timeout(600_000);
    await start('one');
    await nextAsker();
    await start('two');
    for (const signal of ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const) {
      const leader = await nextAsker();
      const other = otherOf[leader];
      const child = processes.get(leader);
      if (child === undefined) throw new Error(`${leader} should run`);
      const since = Date.now();
      child.kill(signal);
      const seconds = await secondsUntil(other, since);
      t.log(`${signal}: ${other} asks after ${seconds} s`);
      if (signal === 'SIGSTOP') {
        child.kill('SIGCONT');
        const before = served.askers.length;
        // The other process has made several passes meanwhile.
        await until(
          async () => served.askers.slice(before).filter(({ name }) => name === other).length > 6,
          { what: 'more requests', ...takeOver },
        );
        const late = served.askers.filter(({ name, at }) => name === leader && at > since + 1_000);
        t.deepEqual(late, []);
      } else {
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        if (signal === 'SIGTERM') t.is(child.exitCode, 0);
        else await start(leader);
      }
    }
  },
);
